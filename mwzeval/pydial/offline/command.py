"""`mwzeval pydial record`: its arguments and what it does."""

from __future__ import annotations

import argparse

from mwzeval.arguments import InputFile
from mwzeval.output import tell


def add_record(parser: argparse.ArgumentParser) -> None:
    """Add what is recorded."""
    parser.add_argument("tasks", nargs="+", metavar="TASK", help="CR-1 to LAP-6, Demo-CR-1, …")
    parser.add_argument(
        "--policy",
        type=InputFile,
        default="mixed",
        metavar="NAME",
        help="random, handcrafted, mixed (default: the two in turn, dialogue by dialogue), or the "
        "checkpoint file of one that has learned",
    )
    parser.add_argument(
        "--dialogues", type=int, default=1000, metavar="N", help="default: %(default)s"
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="of all that is drawn (default: 0)"
    )
    parser.add_argument(
        "-o", "--output", required=True, metavar="DIR", help="the folder of data sets"
    )
    parser.set_defaults(writes_folder=True)
    parser.add_argument("--data", metavar="DIR", help="PyDial's files (default: MWZEVAL_DATA)")


def record(arguments: argparse.Namespace) -> int:
    """Record data sets; return the exit code. Raises `UsageError` for what is none to record."""
    from mwzeval.pydial.dialogue.domain_files import OwnFiles, load_domain
    from mwzeval.pydial.offline.behaviour import behaviour_named
    from mwzeval.pydial.offline.datasets import check_new, write_dataset
    from mwzeval.pydial.runs.episodes import check_seeds
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
        tell(f"wrote {folder}: {arguments.dialogues} dialogues")
    return 0
