"""Write the dialogues of a policy with the simulated user as a data set in Minari's format,
DIR/POLICY/TASK-v0, for learning without an environment.
"""

from __future__ import annotations

import argparse

from mwzeval.arguments import InputFile
from mwzeval.output import notify
from mwzeval.pydial.arguments import add_domain


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(writes_folder=True)
    parser.add_argument("tasks", nargs="+", metavar="TASK", help="CR-1 to LAP-6, Demo-CR-1, …")
    parser.add_argument(
        "--policy",
        type=InputFile,
        default="mixed",
        metavar="NAME",
        help="policy: random, handcrafted, mixed (default: random and handcrafted in alternate "
        "dialogues), or "
        "the checkpoint file of a trained policy",
    )
    parser.add_argument(
        "--dialogues", type=int, default=1000, metavar="N", help="default: %(default)s"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="random seed (default: 0)")
    parser.add_argument(
        "-o", "--output", required=True, metavar="DIR", help="folder for the data sets"
    )
    add_domain(parser)


def run(arguments: argparse.Namespace) -> int:
    from mwzeval.pydial.domain import OwnFiles, load_domain
    from mwzeval.pydial.episodes import check_seeds
    from mwzeval.pydial.recording import behaviour_named, check_new, write_dataset
    from mwzeval.pydial.tasks import task_named

    seed, own = arguments.seed, OwnFiles.given(arguments.ontology, arguments.entities)
    check_seeds(seed)
    tasks = [task_named(name) for name in dict.fromkeys(arguments.tasks)]
    behaviours = [
        behaviour_named(
            arguments.policy,
            load_domain(task.domain, arguments.data, own=own),
            task,
            confusion_seed=seed,
        )
        for task in tasks
    ]
    check_new(arguments.output, behaviours)
    for behaviour in behaviours:
        folder = write_dataset(arguments.output, behaviour, seed, arguments.dialogues)
        notify(f"wrote {folder}: {arguments.dialogues} dialogues")
    return 0
