"""Let an agent talk to a user about goals, and score what came of it.

The agent is one that comes along, a model behind an endpoint (`openai:MODEL`), or code of your own:
`package.module:Name` or `file.py:Name`, see docs/live.md and docs/agents.md. A run that was
interrupted goes on when the same command is called again.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

from mwzeval.arguments import add_format
from mwzeval.benchmark import Benchmark
from mwzeval.outcome import FAILED
from mwzeval.output import tell, warnings_behind, write_result

LIVE = "live"


def add_arguments(parser: argparse.ArgumentParser, benchmark: Benchmark) -> None:
    from mwzeval.conversation.pool import add_pool_options

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
    from mwzeval.conversation.runs import run_as_asked
    from mwzeval.scores.report import summary
    from mwzeval.scores.sheets import printed

    setting = benchmark.live(arguments)
    scorer = benchmark.scorer(arguments)
    arguments.interrupted = "nothing was kept: with -o a run can be gone on with"
    if arguments.output is not None:
        arguments.interrupted = f"the same command goes on with what is in {arguments.output}"
    with TemporaryDirectory() as folder:
        output = arguments.output or str(Path(folder, "run.jsonl"))
        ended = run_as_asked(arguments, setting, output)
        for line in () if arguments.quiet else str(ended).splitlines():
            tell(line)
        if arguments.output is not None:
            arguments.interrupted = f"the dialogues are held: `mwzeval evaluate` scores {output}"
        if ended.scored:
            report = scorer.score(output).report()
            with warnings_behind(report.warnings):
                document = scorer.document(report) or summary(report)
                write_result(printed(document, arguments.format), arguments.format)
    if ended.problem:
        tell(f"failed: {ended.problem}")
        return FAILED
    return 0
