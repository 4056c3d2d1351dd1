"""The versions of the package and of libraries that can change scores."""

from functools import cache

__version__ = "0.2.0"


@cache
def library_version(name: str) -> str:
    """Return the version of an installed package, for signatures and reports."""
    from importlib.metadata import version

    return version(name)
