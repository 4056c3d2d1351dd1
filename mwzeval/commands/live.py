"""Let an agent talk to a simulated user about goals, and score the dialogues.

The agent is a built-in one, a model behind an endpoint (`openai:MODEL`), or your own code:
`package.module:Name` or `file.py:Name` (see docs/live.md and docs/agents.md). To resume an
interrupted run, repeat the same command.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

from mwzeval.arguments import add_format
from mwzeval.benchmark import Benchmark
from mwzeval.outcome import FAILED
from mwzeval.output import notify, warnings_behind, write_result

LIVE = "live"


def add_arguments(parser: argparse.ArgumentParser, benchmark: Benchmark) -> None:
    from mwzeval.conversation.pool import add_pool_options

    parser.add_argument(
        "--agent",
        required=True,
        metavar="NAME",
        help="agent to test: a built-in one, openai:MODEL (a model behind an endpoint), "
        "package.module:Name or file.py:Name",
    )
    parser.add_argument(
        "--trials",
        type=int,
        default=1,
        metavar="K",
        help="number of dialogues for each goal (default: 1)",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="N",
        help="random seed (default: %(default)s)",
    )
    add_pool_options(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="RUN.jsonl",
        help="file for the dialogues, written as they end; an existing file is resumed "
        "(default: the dialogues are not saved)",
    )
    benchmark.add_arguments(parser, LIVE)
    add_format(parser)
    parser.add_argument(
        "-q",
        "--quiet",
        action="store_true",
        help="do not print the progress bar; print a summary of how the dialogues ended only if "
        "something went wrong",
    )


def run(arguments: argparse.Namespace, benchmark: Benchmark) -> int:
    from mwzeval.conversation.runs import run_as_asked
    from mwzeval.scores.report import summary
    from mwzeval.scores.sheets import printed

    setting = benchmark.live(arguments)
    scorer = benchmark.scorer(arguments)
    arguments.interrupted = "nothing was saved; a run with -o can be resumed"
    if arguments.output is not None:
        arguments.interrupted = f"repeat the same command to resume {arguments.output}"
    with TemporaryDirectory() as folder:
        output = arguments.output or str(Path(folder, "run.jsonl"))
        ended = run_as_asked(arguments, setting, output)
        for line in str(ended).splitlines() if ended.problems or not arguments.quiet else ():
            notify(line)
        if arguments.output is not None:
            arguments.interrupted = (
                f"the dialogues are complete: `mwzeval evaluate {output}` scores them"
            )
        if ended.scored:
            report = scorer.score(output).report()
            with warnings_behind(report.warnings):
                document = scorer.document(report) or summary(report)
                write_result(printed(document, arguments.format), arguments.format)
    if ended.problem:
        notify(f"failed: {ended.problem}")
        return FAILED
    return 0
