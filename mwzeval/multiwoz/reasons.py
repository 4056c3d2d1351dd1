"""The failure reasons of the benchmark, and functions that create them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from mwzeval.files.downloads import embedded
from mwzeval.files.reading import table_rows
from mwzeval.multiwoz.database import Database
from mwzeval.scores.explanation import Reason

SHOWN = 3
"""Maximum number of values in a sentence; further values are omitted."""


class Kind(NamedTuple):
    """A line of `data/reasons.tsv`; the file explains its columns."""

    evidence: str
    meaning: str
    sentence: str
    live: str
    acts: str


@lru_cache(maxsize=1)
def kinds() -> Mapping[str, Kind]:
    """Return the failure reasons by code, in the order of the documentation."""
    return {
        kind: Kind(*("" if cell == "-" else cell for cell in cells))
        for kind, *cells in table_rows(embedded("reasons.tsv"), 6)
    }


def reason(
    kind: str,
    outcome: str,
    domain: str,
    turn: int | None,
    words: Mapping[str, object],
    slot: str | None = None,
    column: Literal["sentence", "live", "acts"] = "sentence",
) -> Reason:
    """Return the reason why a domain failed by the given outcome.

    `words` replace the placeholders in the sentence of the reason.
    """
    found = kinds()[kind]
    sentence: str = getattr(found, column)
    text = sentence.format(domain=domain, turn=turn, slot=slot, **words)
    code = kind if slot is None else f"{kind}:{slot}"
    evidence = found.evidence if column == "sentence" else ""
    return Reason(code, outcome, domain, turn, text, evidence=evidence)


def listed(values: Sequence[str], otherwise: str = "unknown") -> str:
    """Return the first few values as one text, for use in a sentence."""
    return ", ".join((*values[:SHOWN], *(("…",) if len(values) > SHOWN else ()))) or otherwise


def unmet(
    domain: str,
    constraints: Mapping[str, str],
    database: Database,
    excludes: Callable[[Sequence[str]], bool],
) -> str:
    """Return as text the constraints for which `excludes` returns true, given their venues."""
    without = [
        f"{slot}={value}"
        for slot, value in constraints.items()
        if excludes(database.find(domain, {slot: value}))
    ]
    return f" ({', '.join(without)})" if without else ""
