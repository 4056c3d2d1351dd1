"""Statistics of a fold and of its database beside the paper's, as tables and as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from mwzeval.crosswoz.corpus.folds import SAMPLE, TABLES, Fold
from mwzeval.crosswoz.corpus.paper_figures import OF_CORPUS, OF_DATABASE
from mwzeval.crosswoz.corpus.statistics import corpus_statistics, database_statistics
from mwzeval.scores.sheets import Document, Sheet, sheet

TRAIN = "train"
Columns = Mapping[str, Mapping[str, Any]]


def fold_statistics(fold: Fold) -> dict[str, Any]:
    """Return the statistics of a fold, scope → name → number, and beside them three other keys.

    `fold` is its name, `database` has the statistics of its venues, and `paper` the paper's figures
    of this fold (`corpus`), of the training fold (`train`) and of the database; the invented
    sample has no such. Raises `DependencyError` without jieba.
    """
    counted = corpus_statistics(fold.dialogues.values())
    venues = database_statistics(fold.tables)
    plain: dict[str, Any] = {scope: asdict(of) for scope, of in counted.items()}
    plain |= {"fold": fold.name, "database": _in_english(_plain(venues))}
    if fold.revision != SAMPLE:
        plain["paper"] = {
            "corpus": OF_CORPUS[fold.name],
            TRAIN: OF_CORPUS[TRAIN],
            "database": _in_english(OF_DATABASE),
        }
    return plain


def statistics_document(statistics: Mapping[str, Any]) -> Document:
    """Return what `fold_statistics` found as two tables: a line a number.

    Beneath a number stands the paper's: of the same fold, else, said so, of the training fold.
    """
    paper = statistics.get("paper", {})
    scopes = {
        scope: of for scope, of in statistics.items() if scope not in ("fold", "database", "paper")
    }
    beneath = {"paper": paper.get("corpus", {}), "paper, train": paper.get(TRAIN, {})}
    corpus = _table(statistics["fold"], scopes, beneath)
    database = _table("database", statistics["database"], {"paper": paper.get("database", {})})
    return Document((), (corpus, database), (), (), statistics)


def _plain(of: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    return {name: asdict(each) for name, each in of.items()}


def _in_english(of: Columns) -> dict[str, Any]:
    """Return columns under the names of the database's files instead of those of domains."""
    return {TABLES[domain]: each for domain, each in of.items()}


def _table(title: str, columns: Columns, beneath: Mapping[str, Columns]) -> Sheet:
    lines = []
    for name in next(iter(columns.values())):
        lines.append([name, *(_shown(column[name]) for column in columns.values())])
        for label, paper in beneath.items():
            figures = [paper.get(column, {}).get(name) for column in columns]
            if any(figure is not None for figure in figures):
                # As the paper prints them, with its digits.
                lines.append([f"  {label}", *("" if f is None else str(f) for f in figures)])
                break
    return sheet("", [title, *columns], lines)


def _shown(number: float) -> str:
    return str(number) if isinstance(number, int) else f"{number:.2f}"
