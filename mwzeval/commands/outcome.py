"""What a verb that scores leaves behind: a report, a table on the terminal, failed gates."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mwzeval.errors import CHOSEN, InputError, Problem, printable
from mwzeval.output import tell, warnings_behind, write_output, write_result
from mwzeval.output_checks import STANDARD_OUTPUT

if TYPE_CHECKING:
    from mwzeval.benchmark import Benchmark, ScoredFile
    from mwzeval.comparison import Comparison
    from mwzeval.comparison.gates import Gate
    from mwzeval.comparison.runs import Across
    from mwzeval.scores.report import Report
    from mwzeval.scores.score import Score
    from mwzeval.scores.sheets import Document

STEP_SUMMARY = "GITHUB_STEP_SUMMARY"
"""The variable with the file that GitHub shows on the page of a workflow's run."""
FAILED = 1


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add `-o`, where the JSON report goes."""
    parser.add_argument(
        "-o",
        "--output",
        default="evaluation_results.json",
        metavar="OUTPUT.json",
        help="where the JSON report goes (default: %(default)s; - is standard output, instead of "
        "the table)",
    )


def add_gates(parser: argparse.ArgumentParser, example: str, *, baseline: bool = False) -> None:
    """Add gates, which make the exit code 1; with `baseline` also the comparison with a file."""
    gates = parser.add_argument_group("gates (exit code 1 when one fails)")
    gates.add_argument(
        "--fail-under",
        metavar="SCORE=N,…",
        help=f"fail when a score is under its number: {example}",
    )
    gates.add_argument(
        "--fail-over",
        metavar="SCORE=N,…",
        help="fail when a score that is better when lower is over its number",
    )
    if baseline:
        gates.add_argument(
            "--fail-below",
            metavar="BASELINE.json",
            help="fail when a score is significantly worse than that of this file (paired "
            "tests, 5 %% after Holm's correction)",
        )


def add_strictness(parser: argparse.ArgumentParser) -> None:
    """Add how warnings are treated, and silence."""
    parser.add_argument("--strict", action="store_true", help="treat every warning as an error")
    add_quiet(parser)


def add_quiet(parser: argparse.ArgumentParser) -> None:
    """Add `-q`, which leaves the report and errors."""
    parser.add_argument(
        "-q", "--quiet", action="store_true", help="print nothing but errors; only write the report"
    )


def warned(
    arguments: argparse.Namespace, warnings: Sequence[Problem]
) -> AbstractContextManager[None]:
    """Return what prints warnings behind what is printed within.

    With `--strict` it raises `InputError` with all warnings but those that an option causes.
    """
    refused = [warning for warning in warnings if warning.kind not in CHOSEN]
    if arguments.strict and refused:
        raise InputError(refused)
    return nullcontext() if arguments.quiet else warnings_behind(warnings)


def failed_gates(
    gates: Sequence[Gate], scores: Iterable[Score | Across], aliases: Mapping[str, str]
) -> list[str]:
    """Return a line for each gate whose score is beyond its number; of runs the mean counts."""
    from mwzeval.comparison.gates import failures, gate_name, resolve_gates

    named = {gate_name(score.name, score.scope): score for score in scores}
    lower = {name for name, score in named.items() if score.lower_is_better}
    values = {name: score.value for name, score in named.items()}
    return list(failures(resolve_gates(gates, named, aliases, lower), values))


def finish(
    arguments: argparse.Namespace,
    plain: Mapping[str, Any],
    document: Document,
    show: Callable[[], str],
    failed: Sequence[str],
) -> int:
    """Write the report, print what `show` returns, tell which gates failed; return the exit code.

    `document` goes to GitHub's step summary, where there is one.
    """
    from mwzeval.text import to_json

    if arguments.output in STANDARD_OUTPUT:
        write_result(to_json(plain), "json")
    else:
        write_output(arguments.output, to_json(plain), quiet=arguments.quiet)
        if not arguments.quiet:
            write_result(show(), arguments.format)
    _append_step_summary(document, failed, quiet=arguments.quiet)
    for line in failed:
        tell(f"failed: {line}")
    return FAILED if failed else 0


def _append_step_summary(document: Document, failed: Sequence[str], *, quiet: bool) -> None:
    """Append the document to GitHub's step summary, if there is one; never fail for it."""
    path = os.environ.get(STEP_SUMMARY)
    if not path:
        return
    from mwzeval.scores.sheets import to_markdown

    text = (
        to_markdown(document) + "\n" + "".join(f"- failed: {printable(line)}\n" for line in failed)
    )
    try:
        with Path(path).open("a", encoding="utf-8", errors="backslashreplace") as stream:
            stream.write(f"{text}\n")
    except (OSError, ValueError) as error:
        if not quiet:
            tell(f"warning: {STEP_SUMMARY} was not written: {error}")


def page(
    reported: Mapping[str, tuple[Report, ScoredFile]],
    benchmark: Benchmark,
    title: str | None = None,
    compared: Comparison | str | None = None,
) -> str:
    """Return the page of systems, name → its report and what was scored.

    `compared` is what they are found to differ in, or why nothing is known of it.
    """
    from mwzeval.report.page.html import to_html
    from mwzeval.report.page.model import page_system, title_of

    shown = [
        page_system(name, report, system.explain_all())
        for name, (report, system) in reported.items()
    ]
    return to_html(
        shown,
        title=title or title_of(shown),
        words=benchmark.words,
        meanings=benchmark.reasons,
        compared=compared,
        headline=benchmark.headline,
    )
