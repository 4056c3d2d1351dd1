"""Be the user in a task and talk to a policy: type acts, or choose from a menu."""

from __future__ import annotations

import argparse
import sys
from io import TextIOWrapper
from random import SystemRandom

from mwzeval.arguments import InputFile
from mwzeval.output import notify
from mwzeval.pydial.arguments import add_domain

SEEDS = 2**20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("task", metavar="TASK", help="CR-1 to LAP-6, or Demo-CR-1 to Demo-LAP-6")
    parser.add_argument(
        "--policy",
        type=InputFile,
        default="handcrafted",
        metavar="NAME",
        help="policy: handcrafted (default), random, or the checkpoint file of a trained policy",
    )
    parser.add_argument(
        "--beliefs", action="store_true", help="show the recognized acts and the belief state"
    )
    parser.add_argument(
        "--seed", type=int, metavar="N", help="seed (default: a random one, which is printed)"
    )
    parser.add_argument(
        "--legacy", action="store_true", help="reproduce the errors of the original code"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE.jsonl",
        help="episode file to which the dialogue is appended",
    )
    add_domain(parser)


def run(arguments: argparse.Namespace) -> int:
    from mwzeval.pydial.domain import OwnFiles, load_domain
    from mwzeval.pydial.episode_files import added_to, episodes_in
    from mwzeval.pydial.episodes import check_seeds
    from mwzeval.pydial.play import adapter_for, play_with_human
    from mwzeval.pydial.tasks import task_named

    task = task_named(arguments.task)
    seed = SystemRandom().randrange(SEEDS) if arguments.seed is None else arguments.seed
    check_seeds(seed)
    before = () if arguments.output is None else episodes_in(arguments.output)
    index = sum((played.task, played.seed) == (task.name, seed) for played in before)
    own = OwnFiles.given(arguments.ontology, arguments.entities)
    domain = load_domain(task.domain, arguments.data, own=own)
    system = adapter_for(
        arguments.policy, domain, task, legacy=arguments.legacy, confusion_seed=seed
    )
    if isinstance(sys.stdin, TextIOWrapper):
        sys.stdin.reconfigure(errors="backslashreplace")  # undecodable input is invalid, too
    dialogue = play_with_human(
        system,
        seed,
        sys.stdin,
        sys.stdout,
        index=index,
        beliefs=arguments.beliefs,
        about={"policy": str(arguments.policy), "legacy": arguments.legacy},
    )
    if dialogue is not None and arguments.output is not None:
        added_to(arguments.output, dialogue)
        notify(f"wrote {arguments.output}")
    return 0
