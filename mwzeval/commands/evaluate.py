"""Score the predictions of a dialogue system.

Prints a table and writes a JSON report. At least one metric must be asked for, e.g.
  evaluate.py --bleu --success --richness --input predictions.json
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from mwzeval.commands.arguments import FORMATS as TABLE_FORMATS
from mwzeval.commands.arguments import (
    add_dst_rules,
    add_format,
    add_intervals,
    add_reading,
    add_references,
    reading,
)
from mwzeval.commands.outcome import (
    add_gates,
    add_output,
    add_strictness,
    failed_gates,
    finish,
    warn,
)
from mwzeval.commands.sharded import add_sharding, is_sharded, report_of_shards
from mwzeval.multiwoz.choices import OWN_FORMAT

if TYPE_CHECKING:
    from mwzeval.evaluator import Checked, Evaluator
    from mwzeval.gates import Gate
    from mwzeval.report.model import Report

PAGE = "html"
FORMATS = (*TABLE_FORMATS, PAGE)

OF_ONE_FILE = ("ceiling", "per_dialogue", "dst_errors", "fail_below", "ci")
"""Options that say nothing about several runs."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    metrics = parser.add_argument_group("metrics")
    for short, name, what in (
        ("-b", "bleu", "BLEU against every reference set that is there"),
        ("-s", "success", "Inform and Success rates"),
        ("-r", "richness", "lexical richness: distinct n-grams, entropies, lengths, MSTTR"),
        ("-d", "dst", "dialogue state tracking: joint accuracy, slot precision, recall, F1"),
        ("-g", "grounded", "words held against the database; bookings (docs/metrics.md)"),
    ):
        metrics.add_argument(short, f"--{name}", action="store_true", help=what)
    add_dst_rules(metrics)
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
    add_output(parser)
    add_reading(parser)
    add_references(parser)
    add_intervals(parser)
    add_format(parser, FORMATS)
    parser.add_argument(
        "--per-dialogue", action="store_true", help="print the counts of each dialogue instead"
    )
    parser.add_argument(
        "--dst-errors",
        action="store_true",
        help="print instead how often each slot was correct, missing, spurious or wrong under each "
        "--dst-rule, and what it was taken for",
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
    add_gates(parser, "inform=85,success=70,inform.hotel=80")
    add_sharding(parser)
    add_strictness(parser)


def run(arguments: argparse.Namespace) -> int:
    """Score, print and write; return the exit code."""
    files = _files(arguments)
    with_ceiling = arguments.bleu or arguments.success or arguments.richness or arguments.dst
    if not (with_ceiling or arguments.dst_rule or arguments.grounded):
        arguments.parser.error(
            "ask for at least one metric: --bleu --success --richness --dst --dst-rule --grounded"
        )
    if arguments.ceiling and not with_ceiling:
        arguments.parser.error(
            "--ceiling is of --bleu --success --richness --dst; under a --dst-rule it is 100"
        )
    if arguments.dst_errors and not arguments.dst_rule:
        arguments.parser.error("--dst-errors needs a --dst-rule, such as --dst-rule exact")
    from mwzeval.gates import parse_gates

    gates = parse_gates(arguments.fail_under, arguments.fail_over)
    if is_sharded(arguments, files):
        return _score_shards(arguments, files, gates)
    if arguments.runs:
        return _score_runs(arguments, files, gates)
    return _score_one(arguments, files[0], gates)


def _files(arguments: argparse.Namespace) -> list[str]:
    files: list[str] = [*arguments.input, *arguments.more]
    if not files:
        arguments.parser.error("the following arguments are required: -i/--input")
    if len(files) > 1 and not (arguments.runs or is_sharded(arguments, files)):
        arguments.parser.error(
            f"{len(files)} inputs: say --runs when they are runs of one system, --shards when they "
            "are parts of one input; `mwzeval compare` compares several systems"
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
    from mwzeval.report.state_errors import state_errors
    from mwzeval.report.summary import per_dialogue, summary

    evaluator = _evaluator(arguments)
    predictions = read_predictions(file)
    baseline = None if arguments.fail_below is None else read_predictions(arguments.fail_below)
    report = evaluator.report(predictions, file=file, progress=not arguments.quiet)
    failed = failed_gates(gates, report.scores, _aliases(report.meta["corpus"]))
    warn(arguments, report.warnings)
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
        shown = document
        if arguments.per_dialogue:
            shown = per_dialogue(report)
        elif arguments.dst_errors:
            shown = state_errors(report)
        show = partial(render, shown, arguments.format)
    return finish(arguments, to_plain(report), document, show, failed)


def _score_shards(
    arguments: argparse.Namespace, files: Sequence[str], gates: Sequence[Gate]
) -> int:
    from mwzeval.report.formats import render
    from mwzeval.report.json import to_plain
    from mwzeval.report.state_errors import state_errors
    from mwzeval.report.summary import summary

    if arguments.format == PAGE:
        arguments.parser.error("the page shows single dialogues, and of shards there are sums")
    report = report_of_shards(arguments, _evaluator(arguments), files)
    failed = failed_gates(gates, report.scores, _aliases(report.meta["corpus"]))
    warn(arguments, report.warnings)
    document = summary(report, places=arguments.places)
    shown = state_errors(report) if arguments.dst_errors else document
    show = partial(render, shown, arguments.format)
    return finish(arguments, to_plain(report), document, show, failed)


def _page(report: Report, checked: Checked, file: str) -> str:
    from mwzeval.commands.report import names_of
    from mwzeval.multiwoz.page import WORDS, page_system
    from mwzeval.report.html import to_html
    from mwzeval.report.page_model import title_of

    system = page_system(names_of([file])[0], report, checked.dialogues, checked.scorer)
    return to_html([system], title=title_of([system]), words=WORDS)


def _score_runs(arguments: argparse.Namespace, files: Sequence[str], gates: Sequence[Gate]) -> int:
    from mwzeval.evaluator import SAMPLE_NOTE
    from mwzeval.multiwoz.choices import SAMPLE
    from mwzeval.multiwoz.predictions import read_predictions
    from mwzeval.report.formats import render
    from mwzeval.report.json import plain_problem
    from mwzeval.report.runs import runs_document
    from mwzeval.runs import across

    evaluator = _evaluator(arguments)
    runs = {
        file: evaluator.score(read_predictions(file), file=file, progress=not arguments.quiet)
        for file in files
    }
    scores = across({file: run.scored for file, run in runs.items()})
    warnings = [warning for run in runs.values() for warning in run.checked.warnings]
    first = runs[files[0]].checked
    gold = first.scorer.gold
    failed = failed_gates(gates, scores, _aliases(gold.corpus))
    warn(arguments, warnings)
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
    return finish(arguments, document.plain, document, show, failed)


def _evaluator(arguments: argparse.Namespace, of_gold: str | None = None) -> Evaluator:
    """Return what scores an input; with a corpus `of_gold`, its gold data, without intervals."""
    from mwzeval.evaluator import Evaluator

    return Evaluator(
        arguments.bleu,
        arguments.success,
        arguments.richness,
        arguments.dst,
        dst_rules=() if of_gold else arguments.dst_rule,
        grounded=arguments.grounded and not of_gold,
        **reading(arguments) | (_as_gold(of_gold) if of_gold else {}),
        references=arguments.references,
        confidence=None if of_gold else arguments.ci,
        samples=arguments.samples,
        seed=arguments.seed,
        rollouts=arguments.rollouts,
    )


def _ceiling(arguments: argparse.Namespace, evaluator: Evaluator, predictions: Any) -> Report:
    """Return the report of the gold annotation of the same dialogues, without intervals."""
    from mwzeval.multiwoz.ceiling import gold_predictions

    checked = evaluator.checked(predictions)
    gold = checked.scorer.gold
    scored_alike = _evaluator(arguments, of_gold=gold.corpus)
    return scored_alike.report(gold_predictions(gold, checked.dialogues))


def _as_gold(corpus: str) -> dict[str, str]:
    return {"corpus": corpus, "input_format": OWN_FORMAT, "responses": "delexicalized"}


def _aliases(corpus: str) -> dict[str, str]:
    """Return the short names of scores for gates."""
    from mwzeval.multiwoz.corpus import CORPORA

    return {"bleu": f"bleu.{CORPORA[corpus].reference_set}"}


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
