"""Dialogue management with PyDial's tasks: train, test and compare policies.

play   talk to a policy as the user in a task: type acts, or choose from a menu
run    train and test policies in tasks; repeat the command to resume
table  print the tables of a run next to the paper's
plot   draw the learning curves of a run, with bands
retest test the policies of a run under other conditions: environments (the paper's Table 8),
       error rates and users
record write the dialogues of a policy as a data set in Minari's format

`mwzeval evaluate --benchmark pydial` scores episode files; validate, compare, explain,
report and leaderboard also read them.
"""

from __future__ import annotations

import argparse
from importlib import import_module

from mwzeval.errors import UsageError

ACTIONS = {
    "play": "talk to a policy as the user in a task",
    "run": "train and test policies",
    "table": "print the paper's tables next to the tables of a run",
    "plot": "draw learning curves with bands",
    "retest": "test trained policies under other conditions",
    "record": "write dialogues of a policy as a data set",
}
"""Maps each action to its summary. For each action, a module in `commands` has the description,
`add_arguments` and `run`."""

FORMER = {
    "cross": "now `pydial retest`",
    "sweep": "now `pydial retest --errors 0,10,20,30,40,50`",
    "cross-users": "now `pydial retest --users`",
    "transfer": "now `pydial retest --in`",
    "estimate": "removed: use scikit-learn to calibrate and score estimates (sklearn.calibration, "
    "brier_score_loss)",
}
"""Former names of actions and their replacements."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands of `mwzeval pydial`, such as `run`, to the parser."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, summary in ACTIONS.items():
        command = import_module(f"mwzeval.pydial.commands.{name}")
        action = actions.add_parser(name, help=summary, description=command.__doc__)
        command.add_arguments(action)
        action.set_defaults(run_action=command.run)
    for name in FORMER:
        actions.add_parser(name, add_help=False).add_argument("rest", nargs=argparse.REMAINDER)


def run(arguments: argparse.Namespace) -> int:
    """Run a subcommand of `mwzeval pydial`; return the exit code.

    Raises `UsageError` for a former name.
    """
    if arguments.action in FORMER:
        raise UsageError(f"`pydial {arguments.action}` is {FORMER[arguments.action]}")
    code: int = arguments.run_action(arguments)
    return code
