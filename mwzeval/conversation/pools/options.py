"""How dialogues are held beside each other, as options of verbs, and a run as these say."""

from __future__ import annotations

from argparse import Namespace, _ActionsContainer
from typing import TYPE_CHECKING

from mwzeval.conversation.pools.processes import DIALOGUE_SECONDS, TURN_SECONDS, TimeLimits

if TYPE_CHECKING:
    from mwzeval.conversation.runs import RunSetting, RunSummary


def add_pool_options(parser: _ActionsContainer) -> None:
    """Add processes, threads, and how long sides may take."""
    parser.add_argument(
        "-j",
        "--jobs",
        type=int,
        default=1,
        metavar="N",
        help="processes; changes no result",
    )
    parser.add_argument(
        "--concurrency",
        type=int,
        metavar="N",
        help="dialogues at a time in threads of all processes, where a server is waited for; "
        "changes no result (default: 4 where a model is asked, else 1)",
    )
    parser.add_argument(
        "--turn-seconds",
        type=float,
        default=TURN_SECONDS,
        metavar="S",
        help="a side of your own that takes longer for a turn has failed (default: %(default)g)",
    )
    parser.add_argument(
        "--dialogue-seconds",
        type=float,
        default=DIALOGUE_SECONDS,
        metavar="S",
        help="a dialogue that takes longer has met its limit (default: %(default)g)",
    )


def run_as_asked(arguments: Namespace, setting: RunSetting, output: str) -> RunSummary:
    """Hold the dialogues of a setting as the options of a verb say; return how they have ended.

    These are `add_pool_options`, `seed`, `quiet` and, where there is such, `trials`. Raises
    `UsageError`, `MwzevalError` as `mwzeval.conversation.runs.run` does.
    """
    from mwzeval.conversation.runs import run

    return run(
        setting,
        output,
        trials=getattr(arguments, "trials", 1),
        seed=arguments.seed,
        jobs=arguments.jobs,
        concurrency=arguments.concurrency,
        limits=TimeLimits(arguments.turn_seconds, arguments.dialogue_seconds),
        progress=False if arguments.quiet else None,
    )
