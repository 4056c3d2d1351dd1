"""A report as a table for people to read on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mwzeval.errors import SHOWN_PROBLEMS, Problem
from mwzeval.report.model import Report
from mwzeval.score import WHOLE, Score

Line = Sequence[str]


def to_text(report: Report) -> str:
    """Return what was scored, all scores, and the signature of each metric."""
    parts = [_heading(report)]
    scoped = _by_name(score for score in report.scores if _has_parts(score, report.scores))
    if scoped:
        parts.append(_scoped_table(scoped))
    whole = [score for score in report.scores if score.name not in scoped]
    if whole:
        parts.append(aligned([(score.label, shown(score)) for score in whole]))
    signatures = dict.fromkeys(str(score.signature) for score in report.scores)
    parts.append("\n".join(signatures))
    return "\n\n".join(parts) + "\n"


def _heading(report: Report) -> str:
    meta = report.meta
    covered = [
        f"{count['scored']} of {count['of']} {what}"
        for what, count in meta["coverage"].items()
        if "of" in count
    ]
    lines = [f"{meta['corpus']}, {meta['fold']} fold, rules {meta['rules']}: {', '.join(covered)}"]
    if note := meta.get("note"):
        lines.append(note)
    return "\n".join(lines)


def _has_parts(score: Score, scores: Sequence[Score]) -> bool:
    return any(other.name == score.name and other.scope != WHOLE for other in scores)


def _by_name(scores: Iterable[Score]) -> dict[str, list[Score]]:
    by_name: dict[str, list[Score]] = {}
    for score in scores:
        by_name.setdefault(score.name, []).append(score)
    return by_name


def _scoped_table(scores: dict[str, list[Score]]) -> str:
    """Return one line per score name and one column per scope, with the number of units below."""
    scopes = dict.fromkeys(score.scope for parts in scores.values() for score in parts)
    lines = [["", *scopes]]
    for parts in scores.values():
        by_scope = {score.scope: score for score in parts}
        lines.append([parts[0].label, *(shown(by_scope[scope]) for scope in scopes)])
    n = {score.scope: str(score.n) for parts in scores.values() for score in parts}
    lines.append(["n", *(n[scope] for scope in scopes)])
    return aligned(lines)


def shown(score: Score) -> str:
    """Return the number with its customary decimals."""
    return f"{score.value:.{score.places}f}"


def aligned(lines: Sequence[Line]) -> str:
    """Return lines of cells in columns: the first one flush left, the others flush right."""
    widths = [max(len(line[index]) for line in lines) for index in range(len(lines[0]))]
    return "\n".join(
        "  ".join(
            [line[0].ljust(widths[0])]
            + [cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)]
        ).rstrip()
        for line in lines
    )


def warnings_text(warnings: Sequence[Problem]) -> str:
    """Return the warnings, one a line, each with how often it was found; the first few of them."""
    lines = [
        f"warning: {problem}" + (f" ({problem.count} times)" if problem.count > 1 else "")
        for problem in warnings[:SHOWN_PROBLEMS]
    ]
    hidden = len(warnings) - len(lines)
    if hidden:
        lines.append(f"… and {hidden} more warnings; the JSON report lists all of them")
    return "".join(f"{line}\n" for line in lines)
