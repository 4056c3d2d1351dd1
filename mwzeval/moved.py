"""Modules under the names that they had: for one release, with a `DeprecationWarning`.

Each benchmark says in `MOVED` where its public modules are now: old module → new module, and
`module:name` → `module:name` where a name went elsewhere, or is called otherwise.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

PACKAGE = "mwzeval"


@cache
def moved() -> Mapping[str, str]:
    """Return the tables of all benchmarks as one."""
    from mwzeval.benchmark import REGISTRY

    tables = (import_module(package).MOVED for package in REGISTRY)
    return {old: new for table in tables for old, new in table.items()}


def names_of(old: str, new: str) -> Callable[[str], Any]:
    """Return a module's `__getattr__` that finds what was in the module `old`, now in `new`.

    It is for packages that are called as a module was.
    """

    def find(name: str) -> Any:
        value = _found(old, new, name)
        _warn(old, new)
        return value

    return find


def find_moved(kept: Mapping[str, str]) -> None:
    """Let moved modules be imported under their old names; those of `kept` without a warning.

    A second time changes nothing.
    """
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder(kept))


def _found(old: str, new: str, name: str) -> Any:
    """Return what an old module's name stands for. Raises `AttributeError`."""
    if name.startswith("__"):
        raise AttributeError(f"module {old!r} has no attribute {name!r}")
    module, _, name_there = moved().get(f"{old}:{name}", f"{new}:{name}").partition(":")
    return getattr(import_module(module), name_there)


def _warn(old: str, new: str) -> None:
    message = f"{old} is {new} now; the old name goes with the next release"
    warnings.warn(message, DeprecationWarning, stacklevel=3)


class _Finder:
    """Finds modules under their old names, when nothing else finds any."""

    def __init__(self, kept: Mapping[str, str]) -> None:
        self._kept = kept

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not name.startswith(f"{PACKAGE}."):
            return None
        new = self._kept.get(name) or moved().get(name)
        if new is None:
            return None
        has_modules = any(old.startswith(f"{name}.") for old in moved())
        loader: Any = _Loader(name, new, warns=name not in self._kept)
        return ModuleSpec(name, loader, is_package=has_modules)


class _Loader:
    """Makes a module whose names are those of another."""

    def __init__(self, old: str, new: str, *, warns: bool) -> None:
        self._old, self._new, self._warns = old, new, warns

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave that to Python."""

    def exec_module(self, module: ModuleType) -> None:
        """Let the module find its names in the other."""
        module.__doc__ = import_module(self._new).__doc__
        module.__dict__["__getattr__"] = partial(_found, self._old, self._new)
        if self._warns:
            _warn(self._old, self._new)
