"""Converts submissions and targets to and from the formats of TREC tools.

A TREC run has six columns (query, Q0, document, rank, score, tag). Qrels have four columns (query,
0, document, relevance). A query is an example, and a document is a candidate. TREC tools sort by
score, mostly as 32-bit numbers, and sort equal scores in different orders. Therefore, the scores of
a TREC run are negative ranks.

Source: trec_eval (NIST).
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite
from pathlib import Path

from mwzeval.dstc7.dialogues import Targets
from mwzeval.dstc7.measures import ranked_ids
from mwzeval.dstc7.submission import Ranked, Submission
from mwzeval.dstc7.tracks import Options, candidate_id, example_id
from mwzeval.errors import UsageError, shorten
from mwzeval.files.reading import lines
from mwzeval.scores.findings import Findings

TAG = "mwzeval"


def to_run(submission: Submission, options: Options | None = None) -> str:
    """Return a submission as a TREC run, without repeats, in the order that `options` select.

    Raises `UsageError` for an id that contains a blank, because blanks separate columns.
    """
    lines = []
    for example, ranking in submission.items():
        _check_blank("example-id", example)
        ids = dict.fromkeys(ranked_ids(ranking, options or Options()))
        for rank, identity in enumerate(ids, start=1):
            _check_blank("candidate-id", identity)
            lines.append(f"{example} Q0 {identity} {rank} {-rank} {TAG}\n")
    return "".join(lines)


def to_qrels(targets: Targets) -> str:
    """Return targets as qrels; each correct candidate has relevance 1.

    Raises `UsageError` for an id that contains a blank.
    """
    lines = []
    for example, correct in targets.items():
        _check_blank("example-id", example)
        for identity in dict.fromkeys(correct):
            _check_blank("candidate-id", identity)
            lines.append(f"{example} 0 {identity} 1\n")
    return "".join(lines)


def read_run(path: str | Path) -> list[Ranked]:
    """Return a TREC run as rankings for `write_submission`; the confidences are the scores.

    Candidates are sorted by decreasing score; candidates with equal scores are in file order. Like
    the TREC tools, this function ignores the rank column. Raises `InputError` with all problems.
    """
    findings = Findings(file=str(path))
    scored: dict[str, dict[str, float]] = {}
    for number, example, identity, score in _rows(path, 6, 4, "score", findings):
        known = scored.setdefault(example, {})
        if identity in known:
            message = f'line {number}: "{shorten(identity)}" is already ranked'
            findings.doubt("duplicate-candidate", message, example=example)
        known.setdefault(identity, score)
    findings.check()
    return [
        Ranked(example, sorted(ranking.items(), key=lambda item: -item[1]))
        for example, ranking in scored.items()
    ]


def read_qrels(path: str | Path) -> Targets:
    """Return qrels as targets: the candidates with a relevance above 0.

    Raises `InputError` with all problems, such as an example without a relevant candidate. If no
    candidate is correct, the qrels must list NONE as a relevant document.
    """
    findings = Findings(file=str(path))
    correct: dict[str, dict[str, None]] = {}
    for _, example, identity, relevance in _rows(path, 4, 3, "relevance", findings):
        known = correct.setdefault(example, {})
        if relevance > 0:
            known[identity] = None
    for example, ids in correct.items():
        if not ids:
            message = "no candidate is relevant (write NONE if none is right)"
            findings.error("malformed-targets", message, example=example)
    findings.check()
    return {example: tuple(ids) for example, ids in correct.items()}


def _rows(
    path: str | Path, count: int, column: int, what: str, findings: Findings
) -> Iterator[tuple[int, str, str, float]]:
    """Yield line number, example, candidate and the number in `column` for each valid line."""
    for line_number, line in lines(str(path)):
        columns = line.split()
        if len(columns) != count:
            message = f"line {line_number}: expected {count} columns, found {len(columns)}"
            findings.error("malformed-trec", message)
            continue
        example, identity = example_id(columns[0]), candidate_id(columns[2])
        try:
            number = float(columns[column])
        except ValueError:
            number = float("nan")
        if not isfinite(number) or example is None or identity is None:
            found = shorten(columns[column])
            message = f'line {line_number}: a {what} must be a finite number, found "{found}"'
            findings.error("malformed-trec", message, example=example)
        else:
            yield line_number, example, identity, number


def _check_blank(what: str, text: str) -> None:
    if not text or text.split() != [text]:
        raise UsageError(
            f'the {what} "{shorten(text)}" contains a space, which TREC files do not allow'
        )
