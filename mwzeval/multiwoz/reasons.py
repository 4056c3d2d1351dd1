"""The kinds of reason why a dialogue failed, and how a particular reason is reported."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from mwzeval.files.downloads import embedded
from mwzeval.files.json_files import table_rows
from mwzeval.scores.explanation import Reason


class Kind(NamedTuple):
    """A line of `data/reasons.tsv`, which explains its columns."""

    evidence: str
    meaning: str
    sentence: str


@lru_cache(maxsize=1)
def kinds() -> Mapping[str, Kind]:
    """Return the kinds of reason by the codes of these, in the order in which pages list them."""
    return {
        kind: Kind(*("" if cell == "-" else cell for cell in cells))
        for kind, *cells in table_rows(embedded("reasons.tsv"), 4)
    }


def reason(
    kind: str,
    outcome: str,
    domain: str,
    turn: int | None,
    words: Mapping[str, object],
    slot: str | None = None,
) -> Reason:
    """Return why an outcome of a domain failed; `words` fill the sentence of the kind."""
    evidence, _, sentence = kinds()[kind]
    text = sentence.format(domain=domain, turn=turn, slot=slot, **words)
    code = kind if slot is None else f"{kind}:{slot}"
    return Reason(code, outcome, domain, turn, text, evidence=evidence)
