"""List the claims of lexicalized responses: position, interpretation, and whether they are true.

The output has one line of JSON per claim (docs/metrics.md#every-claim). Example for one dialogue:
  mwzeval claims FILE | grep sng0073
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from mwzeval.arguments import STANDARD_OUTPUT, add_files, file_of
from mwzeval.multiwoz import NAME
from mwzeval.multiwoz.benchmark import add_reading, scorer_of
from mwzeval.output import warnings_behind, write_output, write_result


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.set_defaults(benchmark=NAME)
    add_files(parser, "a system's file", several=False)
    parser.add_argument(
        "-o",
        "--output",
        default="-",
        metavar="FILE.jsonl",
        help="output file for the claims (default: standard output)",
    )
    add_reading(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write one line of JSON for each claim; return 0."""
    from mwzeval.text import json_line

    system: Any = scorer_of(arguments).score(file_of(arguments))
    with warnings_behind(system.warnings):
        text = "".join(
            json_line({"dialogue": dialogue, **asdict(claim)}) + "\n"
            for dialogue, claim in system.claims()
        )
        if arguments.output in STANDARD_OUTPUT:
            write_result(text, "jsonl")
        else:
            write_output(arguments.output, text)
    return 0
