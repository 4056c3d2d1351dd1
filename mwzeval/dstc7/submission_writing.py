"""Writing submissions, in the official form."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from mwzeval.dstc7.ids import plain_id
from mwzeval.files.json_files import write_atomically

Ranked = tuple[str, Sequence[tuple[int | str, float]]]
"""An example's id, and its candidates with their confidences, the most confident first."""


def write_submission(path: str | Path, rankings: Iterable[Ranked]) -> None:
    """Write a submission, one example a line: (example id, [(candidate id, confidence), …]), ….

    Candidates are written in the order given; ids that are numbers are written as numbers, like
    the files of the track have them. Raises `ValueError` for a confidence that is not finite.
    """
    write_atomically(path, submission_text(rankings))


def submission_text(rankings: Iterable[Ranked]) -> str:
    """Return the text of a submission, the same for the same rankings."""
    return "[\n" + ",\n".join(_lines(rankings)) + "\n]\n"


def _lines(rankings: Iterable[Ranked]) -> Iterator[str]:
    for example, ranking in rankings:
        entries = []
        for candidate, confidence in ranking:
            number = float(confidence)
            if not math.isfinite(number):
                raise ValueError(f"example {example}: the confidence of {candidate} is {number}")
            identity = plain_id(candidate) if isinstance(candidate, str) else candidate
            entries.append({"candidate-id": identity, "confidence": number})
        identity = plain_id(str(example))
        yield json.dumps(
            {"example-id": identity, "candidate-ranking": entries},
            ensure_ascii=False,
            separators=(",", ":"),
        )
