"""The ids of the environments, and their registration with Gymnasium.

Gymnasium has loaded no plug-ins through entry points since version 1.0: a package registers its
environments when it is imported. `import mwzeval` does so if Gymnasium is imported before. It does
not import Gymnasium, which takes longer than all the rest.
"""

from __future__ import annotations

import sys

NAMESPACE = "mwzeval"
VERSION = 0
"""Grows when what happens in an environment changes."""


def environment_ids() -> dict[str, tuple[str, bool]]:
    """Return for each id its task and whether it is the one with the quirks of the original.

    `mwzeval/PyDial-CR-1-v0` is task CR-1, `mwzeval/Demo-CR-1-v0` task Demo-CR-1; with `-legacy`
    before the version they reproduce the published program to the letter.
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
    """Import Gymnasium and register all environments. A second time changes nothing."""
    import gymnasium

    if not hasattr(gymnasium, "make_vec"):  # older than any that can make these environments
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
