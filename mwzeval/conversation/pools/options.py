"""How dialogues are held beside each other, as options of verbs."""

from __future__ import annotations

from argparse import _ActionsContainer

from mwzeval.conversation.pools.processes import DIALOGUE_SECONDS, TURN_SECONDS


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
