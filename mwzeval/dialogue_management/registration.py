"""Importing this registers the environments with Gymnasium; nothing else is loaded before `make`.

`gymnasium.make("mwzeval.dialogue_management.registration:mwzeval/PyDial-CR-1-v0")` does both.
"""

from __future__ import annotations

from mwzeval.dialogue_management.environment import require_gymnasium
from mwzeval.dialogue_management.tasks import DEMO, TASKS

NAMESPACE = "mwzeval"
VERSION = 0
"""Grows when what happens in an environment changes."""


def environment_ids() -> dict[str, tuple[str, bool]]:
    """Return for each id its task and whether it is the one with the quirks of the original.

    `mwzeval/PyDial-CR-1-v0` is task CR-1, `mwzeval/Demo-CR-1-v0` task Demo-CR-1; with `-legacy`
    before the version they reproduce the published program to the letter.
    """
    return {
        f"{NAMESPACE}/{task if task.startswith(DEMO) else f'PyDial-{task}'}{kind}-v{VERSION}": (
            task,
            bool(kind),
        )
        for kind in ("", "-legacy")
        for task in TASKS
    }


def register_environments() -> None:
    """Register all environments; a second time changes nothing. Raises `DependencyError`."""
    require_gymnasium()
    import gymnasium

    for name, (task, legacy) in environment_ids().items():
        if name not in gymnasium.registry:
            gymnasium.register(
                name,
                entry_point="mwzeval.dialogue_management.environment:make_environment",
                vector_entry_point=(
                    "mwzeval.dialogue_management.vector_environment:make_vector_environment"
                ),
                kwargs={"task": task, "legacy": legacy},
            )


register_environments()
