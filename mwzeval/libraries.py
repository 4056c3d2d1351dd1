"""Imports of optional packages, and a context without garbage collection."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from threading import Lock
from types import ModuleType
from typing import Any

from mwzeval.errors import DependencyError

PACKAGES = {"sklearn": "scikit-learn"}
_REPLACING = Lock()


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Pause the garbage collector during imports and scoring, which create no cyclic garbage.

    Searching for cyclic garbage would take as long as computing Success.
    """
    was_collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_collecting:
            gc.enable()


def required(module: str, extra: str | None = "neural", needed: str | None = None) -> Any:
    """Return a module.

    Raises `DependencyError` if the module is missing; the error names the `extra`.

    If `extra` is None, the error names the package. `needed` states the purpose: "drawing needs
    matplotlib".
    """
    try:
        return import_module(module)
    except ImportError as error:
        name = module.split(".")[0]
        package = PACKAGES.get(name, name)
        missing = (
            f"{package} cannot be imported"
            if needed is None
            else f"{needed}, which is not installed"
        )
        install = f"pip install {package}" if extra is None else installing(extra)
        raise DependencyError(f"{missing} ({error}): {install}") from error


def installing(extra: str) -> str:
    """Return the command that installs an extra, for an installed mwzeval and for a checkout."""
    return f"pip install 'mwzeval[{extra}]' (in a checkout: pip install '.[{extra}]')"


def import_without_setuptools(name: str) -> Any:
    """Import and return a module whose package finds data files with `pkg_resources`.

    In many environments, `pkg_resources` is missing or broken. Therefore, a substitute based on
    `importlib.resources` replaces `pkg_resources` during the import. Raises `ModuleNotFoundError`.
    """
    # Imported here because every command imports this module.
    from importlib.resources import files

    package = name.rpartition(".")[0]
    stand_in: Any = ModuleType("pkg_resources")
    stand_in.resource_filename = lambda _, file: str(files(package) / file)
    stand_in.resource_stream = lambda _, file: (files(package) / file).open("rb")
    with _REPLACING:
        if name in sys.modules:
            return sys.modules[name]
        before = sys.modules.get("pkg_resources")
        sys.modules["pkg_resources"] = stand_in
        try:
            return import_module(name)
        finally:
            del sys.modules["pkg_resources"]
            if before:
                sys.modules["pkg_resources"] = before
