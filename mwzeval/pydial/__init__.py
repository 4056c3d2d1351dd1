"""Dialogue management as reinforcement learning: the tasks of the PyDial benchmark.

Source: Casanueva et al., "A Benchmarking Environment for Reinforcement Learning Based Task Oriented
Dialogue Management", 2017, arXiv:1711.11023.
"""

from typing import Any

NAME = "pydial"
TITLE = "PyDial"

SCORING_REVISION = 3
"""Raised whenever the same input gets another number; part of every signature of the benchmark."""

VERBS = {
    "pydial": (
        "reinforcement learning on PyDial's tasks: run, tables, plots, play",
        "mwzeval.pydial.command",
        "benchmarks",
    ),
}
"""Verbs that only this benchmark has: what each is for, its module, and its group."""

MOVED = {
    "mwzeval.dialogue_management": "mwzeval.pydial",
    "mwzeval.dialogue_management.acts": "mwzeval.pydial.dialogue.acts",
    "mwzeval.dialogue_management.domain_files": "mwzeval.pydial.dialogue.domain_files",
    "mwzeval.dialogue_management.environment": "mwzeval.pydial.environments.gymnasium_environments",
    "mwzeval.dialogue_management.play": "mwzeval.pydial.runs.play",
    "mwzeval.dialogue_management.play:play_with_person": "mwzeval.pydial.runs.play:play_with_human",
    "mwzeval.dialogue_management.policies": "mwzeval.pydial.policies",
    "mwzeval.dialogue_management.policies.dqn": "mwzeval.pydial.policies.dqn",
    "mwzeval.dialogue_management.registration": "mwzeval.pydial.environments.registration",
    "mwzeval.dialogue_management.seated_systems": "mwzeval.pydial.runs.play",
    "mwzeval.dialogue_management.seated_systems:seated": "mwzeval.pydial.runs.play:adapter_for",
    "mwzeval.dialogue_management.tasks": "mwzeval.pydial.tasks",
    "mwzeval.dialogue_management.training": "mwzeval.pydial.runs.episodes",
    "mwzeval.dialogue_management.training:Stage": "mwzeval.pydial.runs.episodes:TaskRunner",
    "mwzeval.dialogue_management.training_job": "mwzeval.pydial.runs.job",
}
"""Public modules under the names that they had, see `mwzeval.moved`."""

_HEADER = frozenset({"task", "policy", "legacy", "episodes"})
_EPISODE = frozenset({"success", "exchanges"})


def recognises(raw: Any) -> bool:
    """Tell whether a line of JSON Lines is an episode, or the header before some."""
    if not isinstance(raw, dict):
        return False
    header = raw.get("_meta")
    of_run = isinstance(header, dict) and not _HEADER.isdisjoint(header)
    return of_run or raw.keys() >= _EPISODE
