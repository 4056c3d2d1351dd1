"""What predictions are scored against: a fold, and what is made from it once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from mwzeval.crosswoz.corpus.database import Database
from mwzeval.crosswoz.corpus.folds import Fold


@dataclass(frozen=True, eq=False)
class Gold:
    """A fold, and what is known beside it.

    `other_folds` has the ids of folds at hand, to say where unknown dialogues come from.
    `system_vocabulary` are the acts without values that policies of the paper can say (mined from
    the train fold); None where the file is not there.
    """

    fold: Fold
    other_folds: Mapping[str, frozenset[str]] = field(default_factory=dict)
    system_vocabulary: frozenset[str] | None = None

    @cached_property
    def database(self) -> Database:
        """The venues of the fold's revision."""
        return Database(self.fold.tables)

    @property
    def corpus(self) -> str:
        """What reports call the corpus: `crosswoz-release` and the like."""
        return f"crosswoz-{self.fold.revision}"
