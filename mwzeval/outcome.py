"""The last step of commands that score: write the report, print tables, check gates."""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from mwzeval.arguments import STANDARD_OUTPUT
from mwzeval.errors import CHOSEN, InputError, Problem, UsageError, printable, shorten
from mwzeval.output import notify, warnings_behind, write_output, write_result

if TYPE_CHECKING:
    from mwzeval.benchmark import Benchmark, FileScorer
    from mwzeval.comparison.gates import Gate
    from mwzeval.scores.report import Report
    from mwzeval.scores.sheets import Document

STEP_SUMMARY = "GITHUB_STEP_SUMMARY"
"""The environment variable with the file that GitHub shows on the page of a workflow run."""
FAILED = 1


def add_outcome(parser: argparse.ArgumentParser, benchmark: Benchmark) -> None:
    """Add `-o`, `--fail-under`, `--strict` and `--quiet`."""
    gates = benchmark.gates or f"{[*benchmark.headline, 'SCORE'][0]}=0.5"
    parser.add_argument(
        "-o",
        "--output",
        default="evaluation_results.json",
        metavar="OUTPUT.json",
        help="file for the JSON report (default: %(default)s; - prints it to standard output "
        "instead of the table)",
    )
    parser.add_argument(
        "--fail-under",
        type=parse_gates,
        default=(),
        metavar="SCORE=N,…",
        help=f"exit with 1 if a score is below N, or above N if lower is better ({gates})",
    )
    parser.add_argument("--strict", action="store_true", help="treat every warning as an error")
    parser.add_argument(
        "-q", "--quiet", action="store_true", help="write the report and print only errors"
    )


def parse_gates(text: str) -> tuple[Gate, ...]:
    """Return the scores of `inform=85,success=70` and their limits. Raises `UsageError`."""
    gates = []
    for part in text.split(","):
        name, _, number = part.partition("=")
        try:
            limit = float(number)
        except ValueError:
            limit = math.nan
        if not name.strip() or not math.isfinite(limit):
            raise UsageError(
                f'--fail-under: "{shorten(part)}" does not have the form SCORE=N, such as '
                "inform=85,success=70"
            )
        gates.append((name.strip(), limit))
    return tuple(gates)


def finish_report(
    arguments: argparse.Namespace,
    scorer: FileScorer,
    report: Report,
    worse: Sequence[str] = (),
    page: Callable[[], str] | None = None,
) -> int:
    """Print and write the report (or print `page`) of one input; return the exit code.

    `worse` has failed gates other than those of `--fail-under`.
    """
    from mwzeval.comparison.gates import failures
    from mwzeval.scores.report import summary
    from mwzeval.scores.sheets import printed

    failed = [*failures(arguments.fail_under, report.scores, report.aliases), *worse]
    document = summary(report)
    show = page or partial(printed, scorer.document(report) or document, arguments.format)
    return finish(arguments, document, report.warnings, failed, show)


def finish(
    arguments: argparse.Namespace,
    document: Document,
    warnings: Sequence[Problem],
    failed: Sequence[str],
    show: Callable[[], str] | None = None,
) -> int:
    """Write the report, and print the result of `show`, the warnings and the failed gates.

    Returns the exit code. With `--strict`, warnings raise `InputError`, except warnings that result
    from an option.
    """
    from mwzeval.scores.sheets import printed
    from mwzeval.text import to_json

    refused = [warning for warning in warnings if warning.kind not in CHOSEN]
    if arguments.strict and refused:
        raise InputError(refused)
    with nullcontext() if arguments.quiet else warnings_behind(warnings):
        if arguments.output in STANDARD_OUTPUT:
            write_result(to_json(document.plain), "json")
        else:
            write_output(arguments.output, to_json(document.plain), quiet=arguments.quiet)
            if not arguments.quiet:
                text = show() if show else printed(document, arguments.format)
                write_result(text, arguments.format)
        _append_step_summary(document, failed, quiet=arguments.quiet)
        for line in failed:
            notify(f"failed: {line}")
    return FAILED if failed else 0


def _append_step_summary(document: Document, failed: Sequence[str], *, quiet: bool) -> None:
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
            notify(f"warning: {STEP_SUMMARY} was not written: {error}")
