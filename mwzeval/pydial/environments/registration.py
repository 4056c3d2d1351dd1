"""The ids of the environments, registered with Gymnasium as soon as both are imported.

Gymnasium looks for no plugins, so `import mwzeval` has to register them. It cannot import Gymnasium
for that, which takes longer than all the rest: if Gymnasium comes later, it registers them then.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

GYMNASIUM = "gymnasium"
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
    """Register all environments now if Gymnasium is imported, otherwise once it is.

    A second time changes nothing. Gymnasium itself is not imported, and need not be installed.
    """
    if sys.modules.get(GYMNASIUM) is not None:
        _register()
    elif not any(isinstance(finder, _AfterGymnasium) for finder in sys.meta_path):
        sys.meta_path.insert(0, _AfterGymnasium())


def _register() -> None:
    import gymnasium

    if not hasattr(gymnasium, "make_vec"):  # older than any that can make these environments
        return
    for name, (task, legacy) in environment_ids().items():
        if name not in gymnasium.registry:
            gymnasium.register(
                name,
                entry_point="mwzeval.pydial.environments.gymnasium_environments:make_environment",
                vector_entry_point="mwzeval.pydial.batched.environment:make_vector_environment",
                kwargs={"task": task, "legacy": legacy},
            )


class _AfterGymnasium:
    """Finds Gymnasium as the other finders do, and registers the environments once it is loaded."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != GYMNASIUM:
            return None
        others = [finder for finder in sys.meta_path if finder is not self]
        specs = (finder.find_spec(name, path, target) for finder in others)
        spec = next((spec for spec in specs if spec is not None), None)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def load_and_register(module: ModuleType) -> None:
                load(module)
                _register()

            # Of this loader alone; another class of loader would lose what the module's can do.
            spec.loader.exec_module = load_and_register  # type: ignore[method-assign]
        return spec


register_with_gymnasium()
