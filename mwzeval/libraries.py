"""Libraries of extras: imported where they are used, and what to install when they are missing."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from mwzeval.errors import DependencyError

NEURAL = "neural"
"""The extra that brings PyTorch and safetensors."""
PACKAGES = {"sklearn": "scikit-learn"}


def required(module: str, extra: str = NEURAL) -> Any:
    """Return a module. Raises `DependencyError` naming the extra that brings it."""
    try:
        return import_module(module)
    except ImportError as error:
        name = module.split(".")[0]
        raise DependencyError(
            f"{PACKAGES.get(name, name)} cannot be imported ({error}): "
            f"pip install 'mwzeval[{extra}]'"
        ) from error
