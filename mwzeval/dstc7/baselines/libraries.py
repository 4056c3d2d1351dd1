"""Libraries that only some baselines need, and what to install when they are not there."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from mwzeval.errors import DependencyError

PACKAGES = {"sklearn": "scikit-learn"}


def required(module: str, extra: str) -> Any:
    """Return a module. Raises `DependencyError` naming the extra that brings it."""
    try:
        return import_module(module)
    except ImportError as error:
        name = module.split(".")[0]
        raise DependencyError(
            f"{PACKAGES.get(name, name)} cannot be imported ({error}): "
            f"pip install 'mwzeval[{extra}]'"
        ) from error
