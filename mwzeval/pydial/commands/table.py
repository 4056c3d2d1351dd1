"""Print success and reward of a run next to the paper's Tables 4, 6 and 7; with several runs, show
each policy's results side by side.
"""

from __future__ import annotations

import argparse

from mwzeval.arguments import add_files, add_format, files_of
from mwzeval.output import warnings_behind, write_result
from mwzeval.pydial.arguments import numbers, seeds_named


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_files(
        parser,
        "the folder of a run; several runs are shown side by side, and the headings name the "
        "settings in which they differ",
        "DIR",
    )
    parser.add_argument(
        "--dialogues",
        type=numbers,
        metavar="N,…",
        help="only tests after N training dialogues (default: all)",
    )
    parser.add_argument(
        "--seeds",
        type=seeds_named,
        action="append",
        metavar="SEEDS",
        help="only these seeds, such as 101-110; repeat the option to compare sets of seeds "
        "side by side",
    )
    add_format(parser)


def run(arguments: argparse.Namespace) -> int:
    from mwzeval.pydial.results import read_results
    from mwzeval.pydial.tables import side_by_side, table_document
    from mwzeval.scores.findings import Findings
    from mwzeval.scores.sheets import printed

    findings = Findings()
    runs = [
        read_results(folder, findings, seeds=range(chosen) if isinstance(chosen, int) else chosen)
        for folder in files_of(arguments)
        for chosen in arguments.seeds or [None]
    ]
    document = (
        table_document(runs[0], arguments.dialogues)
        if len(runs) == 1
        else side_by_side(runs, arguments.dialogues)
    )
    with warnings_behind(findings.warnings, can_be_validated=False):
        write_result(printed(document, arguments.format), arguments.format)
    return 0
