"""Draw learning curves: lines show training, points show tests, and the dashed line shows the
handcrafted policy.
"""

from __future__ import annotations

import argparse
from pathlib import PurePath

from mwzeval.arguments import add_files, file_of
from mwzeval.output import warnings_behind, write_output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_files(parser, "the folder of a run", "DIR", several=False)
    parser.add_argument("--figure", choices=("success", "reward"), default="success")
    parser.add_argument(
        "--panels",
        choices=("tasks", "means"),
        default="tasks",
        help="one panel for each task (default), or one for the mean of each domain and one for "
        "the mean of all tasks",
    )
    parser.add_argument(
        "--band",
        choices=("interval", "range"),
        default="interval",
        help="bands: the 95 %% interval over seeds (default), or the range from the lowest "
        "to the highest seed",
    )
    parser.add_argument(
        "--aggregate",
        choices=("mean", "iqm"),
        default="mean",
        help="average over tasks and seeds: mean (default) or, with --panels means, "
        "interquartile mean",
    )
    parser.add_argument(
        "-o", "--output", required=True, metavar="FILE", help="output file: .png, .svg or .pdf"
    )


def run(arguments: argparse.Namespace) -> int:
    from mwzeval.pydial.curves import plot_curves
    from mwzeval.scores.findings import Findings

    findings = Findings()
    picture = plot_curves(
        file_of(arguments),
        figure=arguments.figure,
        panels=arguments.panels,
        band=arguments.band,
        aggregate=arguments.aggregate,
        format_name=PurePath(arguments.output).suffix.removeprefix(".") or "png",
        findings=findings,
    )
    with warnings_behind(findings.warnings, can_be_validated=False):
        write_output(arguments.output, picture)
    return 0
