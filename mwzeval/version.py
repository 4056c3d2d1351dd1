"""The versions of the package and of the libraries whose versions move scores."""

from functools import cache

__version__ = "0.2.0"


@cache
def library_version(name: str) -> str:
    """Return the version of an installed package, which signatures and reports name."""
    from importlib.metadata import version

    return version(name)
