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

_HEADER = frozenset({"task", "policy", "legacy", "episodes"})
_EPISODE = frozenset({"success", "exchanges"})


def recognises(raw: Any) -> bool:
    """Tell whether a line of JSON Lines is an episode, or the header before some."""
    if not isinstance(raw, dict):
        return False
    header = raw.get("_meta")
    of_run = isinstance(header, dict) and not _HEADER.isdisjoint(header)
    return of_run or raw.keys() >= _EPISODE
