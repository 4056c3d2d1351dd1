"""Dialogue management as reinforcement learning: the tasks of the PyDial benchmark.

Source: Casanueva et al., "A Benchmarking Environment for Reinforcement Learning Based Task Oriented
Dialogue Management", 2017, arXiv:1711.11023.

This module also registers the environments with Gymnasium. Since version 1.0, Gymnasium does not
load plug-ins through entry points. Therefore, packages register their environments when they are
imported. `import mwzeval` registers the environments if Gymnasium has been imported before.
Gymnasium itself is not imported by mwzeval, because this would take longer than the rest of the
import.
"""

from __future__ import annotations

import sys

NAME = "pydial"
TITLE = "PyDial"

SCORING_REVISION = 3
"""The scoring revision, which is part of every signature. The revision increases when the scores of
the same input change."""

NAMESPACE = "mwzeval"
VERSION = 0
"""This number is increased when the behavior of an environment changes."""


def environment_ids() -> dict[str, tuple[str, bool]]:
    """Return the task of each id, and whether the id reproduces the published program exactly.

    `mwzeval/PyDial-CR-1-v0` is task CR-1, and `mwzeval/Demo-CR-1-v0` is task Demo-CR-1. Ids with
    `-legacy` before the version reproduce the published program exactly.
    """
    from mwzeval.pydial.tasks import DEMO, TASKS

    return {
        f"{NAMESPACE}/{task if task.startswith(DEMO) else f'PyDial-{task}'}{kind}-v{VERSION}": (
            task,
            bool(kind),
        )
        for kind in ("", "-legacy")
        for task in TASKS
    }


def register_with_gymnasium() -> None:
    """Import Gymnasium and register PyDial's environments. Only the first call has an effect."""
    import gymnasium

    if not hasattr(gymnasium, "make_vec"):  # this version is too old for these environments
        return
    for name, (task, legacy) in environment_ids().items():
        if name not in gymnasium.registry:
            gymnasium.register(
                name,
                entry_point="mwzeval.pydial.envs:make_environment",
                vector_entry_point="mwzeval.pydial.vector_env:make_vector_environment",
                kwargs={"task": task, "legacy": legacy},
            )


if sys.modules.get("gymnasium") is not None:
    register_with_gymnasium()
