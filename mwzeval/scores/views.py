"""What every result offers beside its numbers: a data frame, text, a table in notebooks.

Results are below what shows them, so a method finds that by its name, when it is called.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas

VIEWS = "mwzeval.report.views"


class Viewed:
    """A result that data frames and notebooks can show."""

    __slots__ = ()

    def to_frame(self) -> pandas.DataFrame:
        """Return a pandas DataFrame in long form, unrounded; docs/python.md lists its columns.

        Raises `DependencyError` when pandas (the extra `frames`) is not installed.
        """
        return import_module(VIEWS).to_frame(self)

    def __str__(self) -> str:
        """Return the tables that the command line prints."""
        text: str = import_module(VIEWS).to_text(self)
        return text

    def _repr_html_(self) -> str:
        """Return the tables that the command line prints, for notebooks."""
        html: str = import_module(VIEWS).to_html(self)
        return html
