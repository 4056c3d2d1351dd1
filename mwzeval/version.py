"""The versions of the package and of libraries that can change scores."""

from functools import cache

__version__ = "0.2.0"


def versions(scoring_revision: int) -> dict[str, str | int]:
    """Return the versions of NumPy, the package and a benchmark's scores, for `meta` of reports."""
    return {
        "numpy": library_version("numpy"),
        "mwzeval": __version__,
        "scoring_revision": scoring_revision,
    }


@cache
def library_version(name: str) -> str:
    """Return the version of an installed package, for signatures and reports."""
    from importlib.metadata import version

    return version(name)
