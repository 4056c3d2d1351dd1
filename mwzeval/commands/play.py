"""Talk in a dialogue yourself, as the user or the agent, and see how it is scored.

You get a goal and talk to an agent; or you get the tools and a simulated user talks to you.
With -o the dialogue is saved to a file of live dialogues, which all commands read; the next
dialogue is about a goal that the file does not contain yet.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path
from tempfile import TemporaryDirectory

from mwzeval.benchmark import Benchmark, benchmark_named
from mwzeval.commands.live import LIVE
from mwzeval.errors import UsageError
from mwzeval.output import notify

HUMAN = "human"


def add_arguments(parser: argparse.ArgumentParser, benchmark: Benchmark) -> None:
    parser.add_argument("name", nargs="?", metavar="BENCHMARK", help="the same as --benchmark")
    parser.add_argument(
        "--as",
        dest="side",
        choices=("user", "agent"),
        default="user",
        help="your side of the dialogue (default: %(default)s)",
    )
    parser.add_argument(
        "--agent",
        default="rule",
        metavar="NAME",
        help="agent to talk to if you are the user; the choices are those of `mwzeval live` "
        "(default: %(default)s)",
    )
    parser.add_argument(
        "--seed",
        type=int,
        metavar="N",
        help="random seed, which also determines the goal (default: a new seed each time)",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="RUN.jsonl",
        help="file for the dialogue; an existing file of the same command is extended",
    )
    benchmark.add_arguments(parser, LIVE)
    # A human user or agent may take any amount of time.
    parser.set_defaults(jobs=1, concurrency=1, dialogue_seconds=None)


def run(arguments: argparse.Namespace, benchmark: Benchmark) -> int:
    from mwzeval.conversation.pool import NO_LIMITS
    from mwzeval.conversation.runs import run_header
    from mwzeval.conversation.trajectory import Planned, Record, TrajectoryLog
    from mwzeval.scores.explanation import explanation_text
    from mwzeval.scores.sheets import output_look

    if arguments.name is not None:
        benchmark_named(arguments.name)  # raises an error for unknown names
    setattr(arguments, arguments.side, HUMAN)
    chosen = arguments.seed is None
    seed = arguments.seed = random.SystemRandom().randrange(2**31) if chosen else arguments.seed
    arguments.interrupted = "you left: the dialogue is not counted"
    setting = benchmark.live(arguments)
    # A file may contain several dialogues, each with its own seed.
    header = run_header(setting, seed=0 if chosen else seed, trials=1, limits=NO_LIMITS)
    with TemporaryDirectory() as folder:
        output = arguments.output or str(Path(folder, "run.jsonl"))
        with TrajectoryLog(output, header, [item for item, _ in setting.items]) as log:
            left = [item for item in setting.items if item[0] not in log.ends]
            if not left:
                raise UsageError(f"{output} already has a dialogue for every goal")
            item, goal = random.Random(seed).choice(left)
            planned, record = Planned(item, goal, seed=seed), Record()
            setting.begin()
            trajectory = record.trajectory(planned, setting.hold(planned, record))
            log.begin()
            log.add(trajectory)
            log.put_in_order()
        explanation = benchmark.scorer(arguments).score(output).explain(item)
    goal = benchmark.words.goal.capitalize()
    print(f"\n{explanation_text(explanation, goal=goal, look=output_look())}", end="")
    if arguments.output:
        notify(f"wrote {arguments.output}")
    return 0
