"""Let an agent talk to a user about goals, and score what came of it.

The agent is one that comes along, a model behind an endpoint (`openai:MODEL`), or code of your own:
`package.module:Name` or `file.py:Name`, see docs/live.md and docs/models.md. A run that was
interrupted goes on when the same command is called again.
"""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from mwzeval.arguments import add_format
from mwzeval.benchmark import optional
from mwzeval.commands.systems import scorer_of
from mwzeval.outcome import FAILED, own_document
from mwzeval.output import tell, warnings_behind, write_result

if TYPE_CHECKING:
    from mwzeval.benchmark import Benchmark, FileScorer

LIVE = "live"


def add_arguments(parser: argparse.ArgumentParser, benchmark: Benchmark) -> None:
    """Add the arguments of this verb."""
    from mwzeval.conversation.pools.options import add_pool_options

    parser.add_argument(
        "--agent",
        required=True,
        metavar="NAME",
        help="who is tested: one that comes along, openai:MODEL (behind an endpoint), or "
        "package.module:Name, file.py:Name",
    )
    parser.add_argument(
        "--trials", type=int, default=1, metavar="K", help="dialogues about each goal (default: 1)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="default: %(default)s")
    add_pool_options(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="RUN.jsonl",
        help="where the dialogues go, as they end; a file that exists is gone on with (default: "
        "nothing is kept but the scores)",
    )
    benchmark.add_arguments(parser, LIVE)
    add_format(parser)
    parser.add_argument(
        "-q",
        "--quiet",
        action="store_true",
        help="no progress bar, and not how dialogues have ended: only the scores",
    )


def run(arguments: argparse.Namespace, benchmark: Benchmark) -> int:
    """Hold the dialogues, print their scores; return 1 when too many say nothing of the agent."""
    from mwzeval.conversation.pools.options import run_as_asked

    setting = optional(benchmark, "live")(arguments)
    scorer = scorer_of(benchmark, arguments)
    with ExitStack() as stack:
        output = arguments.output
        if output is None:
            arguments.interrupted = "nothing was kept: with -o a run can be gone on with"
            output = str(Path(stack.enter_context(TemporaryDirectory()), "run.jsonl"))
        else:
            arguments.interrupted = f"the same command goes on with what is in {output}"
        summary = run_as_asked(arguments, setting, output)
        if not arguments.quiet:
            for line in str(summary).splitlines():
                tell(line)
        arguments.interrupted = f"the dialogues are held: `mwzeval evaluate` scores {output}"
        if summary.scored:
            _print_scores(arguments, benchmark, scorer, output)
    if summary.problem:
        tell(f"failed: {summary.problem}")
        return FAILED
    return 0


def _print_scores(
    arguments: argparse.Namespace, benchmark: Benchmark, scorer: FileScorer, file: str
) -> None:
    """Print the scores of a file as `mwzeval evaluate` does."""
    from mwzeval.scores.report import summary
    from mwzeval.scores.sheets import printed

    report = scorer.score(file).report()
    with warnings_behind(report.warnings):
        own = own_document(benchmark, report, arguments)
        document = own or summary(report)
        write_result(printed(document, arguments.format), arguments.format)
