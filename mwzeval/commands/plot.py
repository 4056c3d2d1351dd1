"""Draw a figure for a paper: PNG, SVG or PDF, one column wide, by the ending of its file.

Kinds: scores (with 95 % intervals), scopes (a heat map of the scores of each part, such as a
domain), reasons (how many units each lost). Needs the extra `plot`, matplotlib.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING

from mwzeval.arguments import add_files, add_resampling, files_of
from mwzeval.commands.systems import score_all, scorer_of
from mwzeval.errors import UsageError
from mwzeval.output import warnings_behind, write_output
from mwzeval.statistics.intervals import CONFIDENCE

if TYPE_CHECKING:
    from mwzeval.benchmark import Benchmark, ScoredFile

KINDS = ("scores", "scopes", "reasons")


def add_arguments(parser: argparse.ArgumentParser, benchmark: Benchmark) -> None:
    """Add the arguments of this verb."""
    add_files(parser, "one file per system")
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="FIGURE.pdf",
        help="where the figure goes: .pdf, .png or .svg",
    )
    parser.add_argument(
        "--kind",
        choices=(*KINDS, f"{benchmark.words.scope}s"),
        default="scores",
        help=f"default: %(default)s; {benchmark.words.scope}s is scopes",
    )
    parser.add_argument(
        "--scores",
        metavar="NAMES",
        help="which scores, with commas between (default: "
        f"{', '.join(benchmark.headline)}, those that there are)",
    )
    parser.add_argument(
        "--width", type=_width, default=3.3, metavar="INCHES", help="default: %(default)s"
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


def _width(text: str) -> float:
    width = float(text)
    if not 2 <= width <= 20:
        raise argparse.ArgumentTypeError(f"a figure is 2 to 20 inches wide, not {text}")
    return width


def run(arguments: argparse.Namespace, benchmark: Benchmark) -> int:
    """Score and draw; return the exit code.

    Raises `UsageError` for an unknown ending of the figure's name.
    """
    limits = arguments.from_value, arguments.to_value
    if arguments.kind != "scores" and (arguments.scores or limits != (None, None)):
        arguments.parser.error("--scores, --from and --to are for --kind scores")
    if None not in limits and not arguments.from_value < arguments.to_value:
        arguments.parser.error("--from must be less than --to")
    from mwzeval.report.figures import FORMATS, require_matplotlib

    format_name = PurePath(arguments.output).suffix.lower().removeprefix(".")
    if format_name not in FORMATS:
        endings = ", ".join(f".{name}" for name in FORMATS)
        raise UsageError(f"{arguments.output}: a figure's file ends in one of {endings}")
    require_matplotlib()
    files = files_of(arguments)
    systems = score_all(scorer_of(benchmark, arguments), files, progress=True)
    with warnings_behind(*(system.warnings for system in systems.values())):
        figure = _draw(systems, arguments, benchmark, format_name)
        write_output(arguments.output, figure, f" ({len(figure) / 1e3:.0f} kB)")
    return 0


def _draw(
    systems: Mapping[str, ScoredFile],
    arguments: argparse.Namespace,
    benchmark: Benchmark,
    format_name: str,
) -> bytes:
    from mwzeval.metrics.measure import Resampling
    from mwzeval.report.figures import plot_parts, plot_reasons, plot_scores
    from mwzeval.report.systems import headline_of, scored_system

    resampling = Resampling(CONFIDENCE, arguments.samples, arguments.seed)
    by_reason = arguments.kind == "reasons"
    reports = [system.report(resampling) for system in systems.values()]
    shown = [
        scored_system(name, report, system.explain_all() if by_reason else ())
        for (name, system), report in zip(systems.items(), reports, strict=True)
    ]
    words, width = benchmark.words, arguments.width
    if by_reason:
        return plot_reasons(shown, format_name=format_name, words=words, width=width)
    if arguments.kind != "scores":
        return plot_parts(shown, format_name=format_name, words=words, width=width)
    known = list(dict.fromkeys(score.name for system in shown for score in system.scores))
    main = headline_of(shown, benchmark.headline) or known
    names = arguments.scores.split(",") if arguments.scores else main
    limits = arguments.from_value, arguments.to_value
    return plot_scores(shown, names, format_name=format_name, width=width, limits=limits)
