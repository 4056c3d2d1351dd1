"""A reference response out of an utterance and its annotated spans."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from mwzeval.multiwoz.normalization.normalize import normalize_response


class Span(NamedTuple):
    """An annotated value: `start` and `end` (exclusive) are positions in the utterance."""

    start: int
    end: int
    slot: str
    value: str


def delexicalize(utterance: str, spans: Iterable[Span]) -> str:
    """Return the normalised response with every span replaced by the placeholder of its slot.

    Spans that begin before the end of the last one taken are left out, and so are those whose
    value is "dontcare", because there is no value in the text then.
    """
    pieces = []
    position = 0
    for span in sorted(spans, key=lambda span: span.start):
        if span.start < position or span.value == "dontcare":
            continue
        pieces += [utterance[position : span.start], f"[{span.slot}]"]
        position = span.end
    pieces.append(utterance[position:])
    return normalize_response("".join(pieces))
