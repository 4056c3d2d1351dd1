"""Train every policy in every task with every seed, and test it at checkpoints. Repeat the command
to resume: finished jobs are skipped.
"""

from __future__ import annotations

import argparse
from contextlib import ExitStack

from mwzeval.output import notify
from mwzeval.pydial.arguments import add_plan, plan_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(
        interrupted="repeat the same command to resume; finished jobs are skipped",
        writes_folder=True,
    )
    add_plan(parser)
    parser.add_argument(
        "-o", "--output", required=True, metavar="DIR", help="the folder of the run"
    )
    parser.add_argument(
        "--processes",
        type=int,
        metavar="N",
        help="number of worker processes (default: one per core; 0: run in this process); "
        "does not change results",
    )
    parser.add_argument(
        "--dask",
        metavar="ADDRESS",
        help="run on a Dask cluster: the address of its scheduler, or local",
    )
    parser.add_argument(
        "--compiled",
        action="store_true",
        help="let numba compile the simulation for neural policies: compilation takes about a "
        "minute, once, and halves the time of a job; results do not change",
    )
    parser.add_argument(
        "--log",
        metavar="FILE.csv",
        help="append the progress of training to a CSV file",
    )
    parser.add_argument(
        "--log-every",
        type=int,
        default=100,
        metavar="N",
        help="average over N training dialogues (default: %(default)s)",
    )


def run(arguments: argparse.Namespace) -> int:
    from mwzeval.cluster import cluster
    from mwzeval.pydial.run import run as run_benchmark

    how = {key: getattr(arguments, key) for key in ("output", "log", "log_every")}
    with ExitStack() as stack:
        if arguments.dask:
            how["client"] = stack.enter_context(cluster(arguments.dask, arguments.processes))
        else:
            how["processes"] = arguments.processes
        jobs = run_benchmark(**plan_of(arguments), **how, progress=True)
    policies = "1 policy" if len(jobs) == 1 else f"{len(jobs)} policies"
    notify(f"wrote {arguments.output}: {policies} trained and tested")
    return 0
