"""PyDial's dialogue management: train and test policies, and what came of it.

run    train and test policies in tasks; called again, it goes on where it was
table  print the paper's tables beside those of a run
plot   draw the learning curves of a run, with bands
cross  test what a run has learned in other environments (the paper's Table 8)
play   be the user in a task, against a policy: type acts, or choose from a menu

Scoring of episode files is `mwzeval evaluate --benchmark pydial`; validate, compare, explain,
report and leaderboard likewise.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import PurePath
from typing import Any

from mwzeval.commands.arguments import add_format

SEEDS = 2**20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions of this verb."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, (summary, add, _) in ACTIONS.items():
        add(actions.add_parser(name, help=summary))


def run(arguments: argparse.Namespace) -> int:
    """Do it; return the exit code."""
    return ACTIONS[arguments.action][2](arguments)


def _add_play(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("task", metavar="TASK", help="CR-1 to LAP-6, or Demo-CR-1 to Demo-LAP-6")
    parser.add_argument(
        "--policy",
        default="handcrafted",
        metavar="NAME",
        help="handcrafted (default), random, or the checkpoint file of one that has learned",
    )
    parser.add_argument("--beliefs", action="store_true", help="show what is heard and believed")
    parser.add_argument("--seed", type=int, metavar="N", help="default: drawn, and shown")
    parser.add_argument("--legacy", action="store_true", help="with the quirks of the original")
    parser.add_argument(
        "-o", "--output", metavar="FILE.jsonl", help="an episode file, to which this is added"
    )
    parser.add_argument("--data", metavar="DIR", help="PyDial's files (default: MWZEVAL_DATA)")
    parser.add_argument("--offline", action="store_true", default=None, help="download nothing")


def _play(arguments: argparse.Namespace) -> int:
    from random import SystemRandom

    from mwzeval.dialogue_management.domain_files import load_domain
    from mwzeval.dialogue_management.episode_files import added_to, episodes_in
    from mwzeval.dialogue_management.play import play_with_person
    from mwzeval.dialogue_management.seated_systems import seated
    from mwzeval.dialogue_management.tasks import task_named
    from mwzeval.errors import UsageError

    task = task_named(arguments.task)
    seed = SystemRandom().randrange(SEEDS) if arguments.seed is None else arguments.seed
    if seed < 0:
        raise UsageError(f"a seed is 0 or more, not {seed}")
    before = () if arguments.output is None else episodes_in(arguments.output)
    index = sum((each.task, each.seed) == (task.name, seed) for each in before)
    domain = load_domain(task.domain, arguments.data, offline=arguments.offline)
    system = seated(arguments.policy, domain, task, legacy=arguments.legacy, confusion_seed=seed)
    played = play_with_person(
        system, seed, sys.stdin, sys.stdout, index=index, beliefs=arguments.beliefs
    )
    if played is not None and arguments.output is not None:
        line = played.to_plain(policy=str(arguments.policy), legacy=arguments.legacy)
        added_to(arguments.output, line)
        print(f"wrote {arguments.output}", file=sys.stderr)
    return 0


def _add_plan(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--tasks", default="all", metavar="NAMES", help="CR-1,SFR-3,…, or all 18 (default)"
    )
    parser.add_argument(
        "--policies",
        default="all",
        metavar="NAMES",
        help="handcrafted,gp-sarsa,…, or all (default)",
    )
    parser.add_argument(
        "--dialogues",
        type=_numbers,
        default=(1000, 4000, 10_000),
        metavar="N,…",
        help="after how many training dialogues policies are tested (default: 1000,4000,10000)",
    )
    parser.add_argument("--seeds", type=int, default=10, metavar="N", help="default: %(default)s")
    parser.add_argument(
        "--tests",
        type=int,
        default=500,
        metavar="N",
        help="dialogues a test (default: %(default)s)",
    )
    parser.add_argument("--legacy", action="store_true", help="with the quirks of the original")
    parser.add_argument("--data", metavar="DIR", help="PyDial's files (default: MWZEVAL_DATA)")


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))


def _plan(arguments: argparse.Namespace) -> dict[str, Any]:
    return {
        "tasks": arguments.tasks.split(","),
        "policies": arguments.policies.split(","),
        "dialogues": arguments.dialogues,
        "seeds": arguments.seeds,
        "tests": arguments.tests,
        "legacy": arguments.legacy,
        "data": arguments.data,
    }


def _add_run(parser: argparse.ArgumentParser) -> None:
    _add_plan(parser)
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="of the run")
    parser.add_argument(
        "--processes", type=int, metavar="N", help="default: one a core; they change no result"
    )
    parser.add_argument("--dask", metavar="ADDRESS", help="of a scheduler, or local")


def _run(arguments: argparse.Namespace) -> int:
    from mwzeval.dialogue_management.benchmark_run import run as run_benchmark

    plan = _plan(arguments)
    if arguments.dask:
        from mwzeval.distributed import cluster

        with cluster(arguments.dask, arguments.processes) as client:
            jobs = run_benchmark(**plan, output=arguments.output, client=client, progress=True)
    else:
        processes = arguments.processes
        jobs = run_benchmark(**plan, output=arguments.output, processes=processes, progress=True)
    print(f"wrote {arguments.output}: {len(jobs)} policies trained and tested", file=sys.stderr)
    return 0


def _add_table(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="DIR", help="the folder of a run")
    parser.add_argument(
        "--dialogues", type=_numbers, metavar="N,…", help="after so many only (default: all)"
    )
    add_format(parser)


def _table(arguments: argparse.Namespace) -> int:
    from mwzeval.dialogue_management.run_results import read_results
    from mwzeval.dialogue_management.tables import table_document
    from mwzeval.report.formats import render

    document = table_document(read_results(arguments.folder), arguments.dialogues)
    sys.stdout.write(render(document, arguments.format))
    return 0


def _add_plot(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="DIR", help="the folder of a run")
    parser.add_argument("--figure", choices=("success", "reward"), default="success")
    parser.add_argument(
        "--panels",
        choices=("tasks", "means"),
        default="tasks",
        help="a panel for each task (default), or for the mean of each domain and of all",
    )
    parser.add_argument(
        "--band",
        choices=("interval", "range"),
        default="interval",
        help="the 95 %% interval over seeds (default), or from the lowest seed to the highest",
    )
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help=".png, .svg or .pdf")


def _plot(arguments: argparse.Namespace) -> int:
    from mwzeval.dialogue_management.curves import plot_curves
    from mwzeval.files import write_atomically

    picture = plot_curves(
        arguments.folder,
        figure=arguments.figure,
        panels=arguments.panels,
        band=arguments.band,
        format_name=PurePath(arguments.output).suffix.removeprefix(".") or "png",
    )
    write_atomically(arguments.output, picture)
    print(f"wrote {arguments.output}", file=sys.stderr)
    return 0


def _add_cross(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder", metavar="DIR", help="the folder of a run, made with these options"
    )
    _add_plan(parser)
    add_format(parser)


def _cross(arguments: argparse.Namespace) -> int:
    from mwzeval.dialogue_management.benchmark_run import planned
    from mwzeval.dialogue_management.cross_environment import cross, cross_document
    from mwzeval.report.formats import render

    crossed = cross(arguments.folder, planned(**_plan(arguments)), tests=arguments.tests)
    sys.stdout.write(render(cross_document(crossed), arguments.format))
    return 0


Action = tuple[str, Callable[[argparse.ArgumentParser], None], Callable[[argparse.Namespace], int]]
ACTIONS: dict[str, Action] = {
    "run": ("train and test policies", _add_run, _run),
    "table": ("the paper's tables beside those of a run", _add_table, _table),
    "plot": ("learning curves with bands", _add_plot, _plot),
    "cross": ("what was learned, in other environments", _add_cross, _cross),
    "play": ("be the user in a task, against a policy", _add_play, _play),
}
"""Action → what it does, how its arguments are added, and how it is run."""
