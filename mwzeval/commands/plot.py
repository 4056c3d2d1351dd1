"""Draw a figure for a paper: PNG, SVG or PDF (chosen by the file's extension), one column wide.

Kinds: scores (with 95 % intervals), scopes (a heat map of the scores of each part, such as each
domain), reasons (how many dialogues failed for each reason). Needs the extra `plot` (matplotlib).
"""

from __future__ import annotations

import argparse
from pathlib import PurePath

from mwzeval.arguments import add_files, add_resampling, files_of, number, resampling_of
from mwzeval.benchmark import Benchmark
from mwzeval.commands.systems import named_report, score_files
from mwzeval.output import warnings_behind, write_output

SCORES, SCOPES, REASONS = "scores", "scopes", "reasons"


def add_arguments(parser: argparse.ArgumentParser, benchmark: Benchmark) -> None:
    add_files(parser, "one file for each system")
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="FIGURE.pdf",
        help="output file: .pdf, .png or .svg",
    )
    parser.add_argument(
        "--kind",
        choices=(SCORES, SCOPES, REASONS, f"{benchmark.words.scope}s"),
        default=SCORES,
        help=f"what to draw (default: %(default)s); {benchmark.words.scope}s means scopes",
    )
    parser.add_argument(
        "--scores",
        metavar="NAMES",
        help="scores to draw, separated by commas (default: "
        f"{', '.join(benchmark.headline)}, as far as available)",
    )
    parser.add_argument(
        "--width",
        type=number(lambda width: 2 <= width <= 20, "2 to 20 inches"),
        default=3.3,
        metavar="INCHES",
        help="default: %(default)s",
    )
    for name, what in (("from", "begins (default: 0)"), ("to", "ends")):
        parser.add_argument(
            f"--{name}",
            dest=f"{name}_value",
            type=float,
            metavar="X",
            help=f"where the axis of --kind scores {what}",
        )
    benchmark.add_arguments(parser, "plot")
    add_resampling(parser)


def run(arguments: argparse.Namespace, benchmark: Benchmark) -> int:
    from mwzeval.report import figures
    from mwzeval.report.systems import headline_of, labels_of

    kind, limits = arguments.kind, (arguments.from_value, arguments.to_value)
    if kind != SCORES and (arguments.scores or limits != (None, None)):
        arguments.parser.error("--scores, --from and --to only apply to --kind scores")
    if None not in limits and not arguments.from_value < arguments.to_value:
        arguments.parser.error("--from must be less than --to")
    format_name = PurePath(arguments.output).suffix.lower().removeprefix(".")
    figures.check_format(format_name)
    systems = score_files(files_of(arguments), arguments, benchmark)
    with warnings_behind(*(system.warnings for system in systems.values())):
        resampling, explained = resampling_of(arguments), kind == REASONS
        shown = [named_report(*s, resampling, explained=explained) for s in systems.items()]
        how = {"format_name": format_name, "width": arguments.width}
        if kind == SCORES:
            names = headline_of(shown, benchmark.headline) or list(labels_of(shown))
            if arguments.scores:
                names = arguments.scores.split(",")
            figure = figures.plot_scores(shown, names, limits=limits, **how)
        else:
            draw = figures.plot_reasons if kind == REASONS else figures.plot_parts
            figure = draw(shown, words=benchmark.words, **how)
        write_output(arguments.output, figure, f" ({len(figure) / 1e3:.0f} kB)")
    return 0
