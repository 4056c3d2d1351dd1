"""Score the predictions of a dialogue system.

Prints a table and writes a JSON report. At least one metric must be asked for, e.g.
  evaluate.py --bleu --success --richness --input predictions.json
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mwzeval.commands.arguments import FORMATS as TABLE_FORMATS
from mwzeval.commands.arguments import add_corpus, add_format, add_intervals, add_references
from mwzeval.errors import InputError

if TYPE_CHECKING:
    from mwzeval.evaluator import Checked, Evaluator
    from mwzeval.gates import Gate
    from mwzeval.report.model import Report
    from mwzeval.report.sheet import Document

PAGE = "html"
FORMATS = (*TABLE_FORMATS, PAGE)
STANDARD_OUTPUT = ("-", "/dev/stdout")
STEP_SUMMARY = "GITHUB_STEP_SUMMARY"
"""The variable with the file that GitHub shows on the page of a workflow's run."""

FAILED = 1
OF_ONE_FILE = ("ceiling", "per_dialogue", "fail_below", "ci")
"""Options that say nothing about several runs."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    metrics = parser.add_argument_group("metrics")
    for short, name, what in (
        ("-b", "bleu", "BLEU against every reference set that is there"),
        ("-s", "success", "Inform and Success rates"),
        ("-r", "richness", "lexical richness: distinct n-grams, entropies, lengths, MSTTR"),
        ("-d", "dst", "dialogue state tracking: joint accuracy, slot precision, recall, F1"),
    ):
        metrics.add_argument(short, f"--{name}", action="store_true", help=what)
    parser.add_argument(
        "more", nargs="*", metavar="INPUT.json", help="the same as -i; several with --runs"
    )
    parser.add_argument(
        "-i",
        "--input",
        action="append",
        default=[],
        metavar="INPUT.json",
        help="predictions: .json or .jsonl, also .gz or .zst; - reads JSON from standard input",
    )
    parser.add_argument(
        "-o",
        "--output",
        default="evaluation_results.json",
        metavar="OUTPUT.json",
        help="where the JSON report goes (default: %(default)s; - is standard output, instead of "
        "the table)",
    )
    add_corpus(parser)
    add_references(parser)
    add_intervals(parser)
    add_format(parser, FORMATS)
    parser.add_argument(
        "--per-dialogue", action="store_true", help="print the counts of each dialogue instead"
    )
    parser.add_argument(
        "--ceiling",
        action="store_true",
        help="print what gold responses and states get beside each score",
    )
    parser.add_argument(
        "--runs",
        action="store_true",
        help="the inputs are runs of one system: print mean ± standard deviation of each score, "
        "and how much of the variance is between runs and between dialogues",
    )
    gates = parser.add_argument_group("gates (exit code 1 when one fails)")
    gates.add_argument(
        "--fail-under",
        metavar="SCORE=N,…",
        help="fail when a score is under its number: inform=85,success=70,inform.hotel=80",
    )
    gates.add_argument(
        "--fail-below",
        metavar="BASELINE.json",
        help="fail when a score is significantly worse than that of these predictions (paired "
        "tests, 5 %% after Holm's correction)",
    )
    parser.add_argument("--strict", action="store_true", help="treat every warning as an error")
    parser.add_argument(
        "-q", "--quiet", action="store_true", help="print nothing but errors; only write the report"
    )


def run(arguments: argparse.Namespace) -> int:
    """Score, print and write; return the exit code."""
    files = _files(arguments)
    if not (arguments.bleu or arguments.success or arguments.richness or arguments.dst):
        arguments.parser.error("ask for at least one metric: --bleu --success --richness --dst")
    from mwzeval.gates import parse_gates

    gates = () if arguments.fail_under is None else parse_gates(arguments.fail_under)
    if arguments.runs:
        return _score_runs(arguments, files, gates)
    return _score_one(arguments, files[0], gates)


def _files(arguments: argparse.Namespace) -> list[str]:
    files: list[str] = [*arguments.input, *arguments.more]
    if not files:
        arguments.parser.error("the following arguments are required: -i/--input")
    if len(files) > 1 and not arguments.runs:
        arguments.parser.error(
            f"{len(files)} inputs: say --runs when they are runs of one system; "
            "`mwzeval compare` compares several systems"
        )
    if len(set(files)) < len(files):
        arguments.parser.error("an input is given twice")
    for option in OF_ONE_FILE if arguments.runs else ():
        if getattr(arguments, option):
            name = option.replace("_", "-")
            arguments.parser.error(f"--{name} is about one input: leave it out, or --runs")
    if arguments.runs and arguments.format == PAGE:
        arguments.parser.error("the page shows single systems: `mwzeval report` of all runs")
    return files


def _score_one(arguments: argparse.Namespace, file: str, gates: Sequence[Gate]) -> int:
    from mwzeval.multiwoz.predictions import read_predictions
    from mwzeval.report.ceiling import beside_ceiling, with_ceiling
    from mwzeval.report.formats import render
    from mwzeval.report.json import to_plain
    from mwzeval.report.summary import per_dialogue, summary

    evaluator = _evaluator(arguments)
    predictions = read_predictions(file)
    baseline = None if arguments.fail_below is None else read_predictions(arguments.fail_below)
    report = evaluator.report(predictions, file=file, progress=not arguments.quiet)
    values = {(score.name, score.scope): score.value for score in report.scores}
    failed = _under(gates, values, report.meta["corpus"])
    _warn(arguments, report.warnings)
    if baseline is not None:
        failed += _worse(arguments, evaluator, predictions, baseline, file)
    document = summary(report, places=arguments.places)
    if arguments.ceiling:
        ceiling = _ceiling(arguments, evaluator, predictions)
        report = with_ceiling(report, ceiling)
        document = beside_ceiling(report, ceiling, places=arguments.places)
    if arguments.format == PAGE:
        show = partial(_page, report, evaluator.checked(predictions, file=file), file)
    else:
        shown = per_dialogue(report) if arguments.per_dialogue else document
        show = partial(render, shown, arguments.format)
    return _finish(arguments, to_plain(report), document, show, failed)


def _page(report: Report, checked: Checked, file: str) -> str:
    from mwzeval.commands.report import names_of
    from mwzeval.multiwoz.page import WORDS, page_system, title_of
    from mwzeval.report.html import to_html

    system = page_system(names_of([file])[0], report, checked.dialogues, checked.scorer)
    return to_html([system], title=title_of([system]), words=WORDS)


def _score_runs(arguments: argparse.Namespace, files: Sequence[str], gates: Sequence[Gate]) -> int:
    from mwzeval.evaluator import SAMPLE_NOTE
    from mwzeval.multiwoz.choices import SAMPLE
    from mwzeval.multiwoz.predictions import read_predictions
    from mwzeval.report.formats import render
    from mwzeval.report.json import plain_problem
    from mwzeval.report.runs import runs_document
    from mwzeval.runs import across, means

    evaluator = _evaluator(arguments)
    runs = {
        file: evaluator.score(read_predictions(file), file=file, progress=not arguments.quiet)
        for file in files
    }
    scores = across({file: run.scored for file, run in runs.items()})
    warnings = [warning for run in runs.values() for warning in run.checked.warnings]
    first = runs[files[0]].checked
    gold = first.scorer.gold
    values = {(name, scope): mean for name, scope, mean in means(scores)}
    failed = _under(gates, values, gold.corpus)
    _warn(arguments, warnings)
    document = runs_document(
        scores,
        runs={file: run.evaluation.plain() for file, run in runs.items()},
        meta={
            "corpus": gold.corpus,
            "note": SAMPLE_NOTE if gold.corpus == SAMPLE else None,
            "fold": gold.fold,
            "sources": gold.checksum,
            "rules": first.scorer.rules,
            "coverage": first.coverage.to_json(),
            "warnings": [plain_problem(warning) for warning in warnings],
        },
        places=arguments.places,
    )
    show = partial(render, document, arguments.format)
    return _finish(arguments, document.plain, document, show, failed)


def _evaluator(arguments: argparse.Namespace, of_gold: str | None = None) -> Evaluator:
    """Return what scores an input; with a corpus `of_gold`, its gold data, without intervals."""
    from mwzeval.evaluator import Evaluator

    return Evaluator(
        arguments.bleu,
        arguments.success,
        arguments.richness,
        arguments.dst,
        corpus=of_gold or arguments.corpus,
        fold=arguments.fold,
        rules=arguments.rules,
        data=arguments.data,
        offline=arguments.offline,
        references=arguments.references,
        confidence=None if of_gold else arguments.ci,
        samples=arguments.samples,
        seed=arguments.seed,
    )


def _warn(arguments: argparse.Namespace, warnings: Sequence[Any]) -> None:
    from mwzeval.report.text import warnings_text

    if arguments.strict and warnings:
        raise InputError(warnings)
    if not arguments.quiet:
        sys.stderr.write(warnings_text(warnings))


def _ceiling(arguments: argparse.Namespace, evaluator: Evaluator, predictions: Any) -> Report:
    """Return the report of the gold annotation of the same dialogues, without intervals."""
    from mwzeval.multiwoz.ceiling import gold_predictions

    checked = evaluator.checked(predictions)
    gold = checked.scorer.gold
    scored_alike = _evaluator(arguments, of_gold=gold.corpus)
    return scored_alike.report(gold_predictions(gold, checked.dialogues))


def _under(
    gates: Sequence[Gate], values: Mapping[tuple[str, str], float], corpus: str
) -> list[str]:
    from mwzeval.gates import failures, gate_name, resolve_gates
    from mwzeval.multiwoz.corpus import CORPORA

    named = {gate_name(name, scope): value for (name, scope), value in values.items()}
    aliases = {"bleu": f"bleu.{CORPORA[corpus].reference_set}"}
    return list(failures(resolve_gates(gates, named, aliases), named))


def _worse(
    arguments: argparse.Namespace,
    evaluator: Evaluator,
    predictions: Any,
    baseline: Any,
    file: str,
) -> list[str]:
    from mwzeval.gates import worse_than
    from mwzeval.measure import Resampling

    systems = [
        evaluator.score(of, file=name).scored
        for of, name in ((predictions, file), (baseline, arguments.fail_below))
    ]
    resampling = Resampling(samples=arguments.samples, seed=arguments.seed)
    return [str(worse) for worse in worse_than(systems[0], systems[1], resampling)]


def _finish(
    arguments: argparse.Namespace,
    plain: Mapping[str, Any],
    document: Document,
    show: Callable[[], str],
    failed: Sequence[str],
) -> int:
    """Write the report, print it, and tell which gates failed."""
    from mwzeval.files import write_atomically
    from mwzeval.report.json import to_json

    if arguments.output in STANDARD_OUTPUT:
        sys.stdout.write(to_json(plain))
    else:
        write_atomically(arguments.output, to_json(plain))
        if not arguments.quiet:
            sys.stdout.write(show())
    _append_step_summary(document, failed, quiet=arguments.quiet)
    for line in failed:
        print(f"failed: {line}", file=sys.stderr)
    return FAILED if failed else 0


def _append_step_summary(document: Document, failed: Sequence[str], *, quiet: bool) -> None:
    """Append the document to GitHub's step summary, if there is one; never fail for it."""
    path = os.environ.get(STEP_SUMMARY)
    if not path:
        return
    from mwzeval.report.markdown import to_markdown

    text = to_markdown(document) + "\n" + "".join(f"- failed: {line}\n" for line in failed)
    try:
        with Path(path).open("a", encoding="utf-8", errors="backslashreplace") as stream:
            stream.write(f"{text}\n")
    except (OSError, ValueError) as error:
        if not quiet:
            print(f"warning: {STEP_SUMMARY} was not written: {error}", file=sys.stderr)
