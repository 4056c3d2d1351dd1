"""The two clocks, of the package and of the meaning of its scores, and those of libraries."""

from functools import cache

__version__ = "0.1.0"
SCORING_REVISION = 2
"""Raised whenever the same input gets another number; part of every signature."""


@cache
def library_version(name: str) -> str:
    """Return the version of an installed package, which signatures and reports name."""
    from importlib.metadata import version

    return version(name)
