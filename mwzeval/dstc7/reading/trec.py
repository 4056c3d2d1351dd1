"""Submissions and targets in the formats of TREC tools, and back.

A run has six columns (query, Q0, document, rank, score, tag), qrels four (query, 0, document,
relevance). Queries are examples, documents candidates. As these tools sort by score themselves,
mostly in 32 bits, and break ties in their own ways, the score is minus the rank: the order stays.

Source: trec_eval (NIST).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mwzeval.dstc7.reading.kinds import note
from mwzeval.dstc7.reading.submission import Ranked, Submission
from mwzeval.dstc7.reading.targets import Targets, lines_of
from mwzeval.dstc7.reading.tracks import Options, candidate_id, example_id
from mwzeval.dstc7.scoring.measures import ranked_ids
from mwzeval.errors import UsageError, shorten
from mwzeval.files.reading import read_text
from mwzeval.scores.findings import Findings

TAG = "mwzeval"
RUN_COLUMNS, QRELS_COLUMNS = 6, 4


def to_run(submission: Submission, options: Options | None = None, tag: str = TAG) -> str:
    """Return a submission as a run, repeats left out, ranked as `options` say.

    Raises `UsageError` for a tag, or an id, with a blank in it: columns end at blanks.
    """
    options = options or Options()
    _check_blank("tag", tag)
    lines = []
    for example, ranking in submission.items():
        _check_blank("example-id", example)
        for rank, identity in enumerate(dict.fromkeys(ranked_ids(ranking, options)), start=1):
            _check_blank("candidate-id", identity)
            lines.append(f"{example} Q0 {identity} {rank} {-rank} {tag}\n")
    return "".join(lines)


def to_qrels(targets: Targets) -> str:
    """Return targets as qrels, each correct candidate with relevance 1.

    Raises `UsageError` for an id with a blank in it.
    """
    lines = []
    for example, correct in targets.items():
        _check_blank("example-id", example)
        for identity in dict.fromkeys(correct):
            _check_blank("candidate-id", identity)
            lines.append(f"{example} 0 {identity} 1\n")
    return "".join(lines)


def read_run(path: str | Path) -> list[Ranked]:
    """Return a run as rankings for `write_submission`, confidences being the scores.

    Candidates come by falling score, equal ones in the order of the file; the rank column is not
    read, as tools do. Raises `InputError` with every problem.
    """
    findings = Findings(file=str(path))
    scored: dict[str, dict[str, float]] = {}
    for number, columns in _columns(path, RUN_COLUMNS, findings):
        example, identity = example_id(columns[0]), candidate_id(columns[2])
        score = _number(columns[4])
        if score is None or example is None or identity is None:
            message = f'line {number}: a score is a finite number, found "{shorten(columns[4])}"'
            note(findings, "malformed-trec", message, example=example)
            continue
        known = scored.setdefault(example, {})
        if identity in known:
            message = f'line {number}: "{shorten(identity)}" was ranked before'
            note(findings, "duplicate-candidate", message, example=example)
        known.setdefault(identity, score)
    findings.check()
    return [
        (example, sorted(ranking.items(), key=lambda item: -item[1]))
        for example, ranking in scored.items()
    ]


def read_qrels(path: str | Path) -> Targets:
    """Return qrels as targets: the candidates with a relevance above 0.

    Raises `InputError` with every problem, also for examples without a relevant candidate: write
    NONE as a relevant document for these.
    """
    findings = Findings(file=str(path))
    correct: dict[str, dict[str, None]] = {}
    for number, columns in _columns(path, QRELS_COLUMNS, findings):
        example, identity = example_id(columns[0]), candidate_id(columns[2])
        relevance = _number(columns[3])
        if relevance is None or example is None or identity is None:
            found = shorten(columns[3])
            message = f'line {number}: a relevance is a number, found "{found}"'
            note(findings, "malformed-trec", message, example=example)
            continue
        known = correct.setdefault(example, {})
        if relevance > 0:
            known[identity] = None
    for example, ids in correct.items():
        if not ids:
            message = "no candidate is relevant (NONE would say that none is right)"
            note(findings, "malformed-targets", message, example=example)
    findings.check()
    return {example: tuple(ids) for example, ids in correct.items()}


def _columns(path: str | Path, count: int, findings: Findings) -> Iterator[tuple[int, list[str]]]:
    text = read_text(path)
    for number, line in lines_of(text):
        columns = line.split()
        if len(columns) == count:
            yield number, columns
        else:
            message = f"line {number}: expected {count} columns, found {len(columns)}"
            note(findings, "malformed-trec", message)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if abs(number) < float("inf") else None


def _check_blank(what: str, text: str) -> None:
    if not text or text.split() != [text]:
        raise UsageError(f'the {what} "{shorten(text)}" has a blank in it, which TREC files lack')
