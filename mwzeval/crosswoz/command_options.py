"""What the commands of CrossWOZ share: the fold they read, what training is told, files written."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from mwzeval.crosswoz import NAME
from mwzeval.errors import UsageError
from mwzeval.output import write_output

if TYPE_CHECKING:
    from mwzeval.crosswoz.corpus.dialogues import Dialogue
    from mwzeval.crosswoz.corpus.folds import Fold
    from mwzeval.files.downloads import DataRoot
    from mwzeval.neural.training import TrainingSettings

FOLDS = ("test", "val", "train")
REVISIONS = ("release", "convlab2", "sample")
TRAINED = {
    "epochs": "passes over the training dialogues, at most",
    "hidden": "width of the hidden layers",
    "learning_rate": "of Adam",
    "batch_size": "examples of a step",
    "seed": "of first weights, order and dropout",
    "threads": "CPU threads; another number may change the last digits",
}
"""The settings of every training, and what they are."""


def add_fold(parser: argparse.ArgumentParser, default: str | None = "test") -> None:
    """Add the arguments that name a fold and where it lies.

    Without a `default`, a file says its fold and revision itself.
    """
    said = "what the file says, else " if default is None else ""
    parser.add_argument(
        "--fold",
        choices=FOLDS,
        default=default,
        help=f"default: {said}{default or 'the one that has its dialogues'}",
    )
    parser.add_argument(
        "--revision",
        choices=REVISIONS,
        default=None if default is None else REVISIONS[0],
        help=f"of the corpus (default: {said}{REVISIONS[0]})",
    )
    parser.add_argument("--data", metavar="DIR", help="in the public layout")


def _add_settings(parser: argparse.ArgumentParser, defaults: TrainingSettings) -> None:
    """Add the settings of a training, None where they are not named; `defaults` are told."""
    for name, what in TRAINED.items():
        kind = float if name == "learning_rate" else int
        told = f"{what} (default: {getattr(defaults, name)})"
        parser.add_argument(f"--{name.replace('_', '-')}", type=kind, metavar="N", help=told)


def add_training(
    actions: Any, what: str, defaults: TrainingSettings, *, holds_out: bool = True
) -> argparse.ArgumentParser:
    """Add the action that trains `what`, with all that trainings have in common; return it.

    `defaults` are told; `holds_out` says that the epoch is chosen on dialogues of their own.
    """
    train: argparse.ArgumentParser = actions.add_parser(
        "train", help="train; called again, it goes on where it was"
    )
    train.set_defaults(interrupted="the same call goes on after the last epoch that was saved")
    train.add_argument("-o", "--output", required=True, metavar="DIR", help=f"of the {what}")
    train.set_defaults(writes_folder=True)
    add_fold(train, "train")
    if holds_out:
        _add_hold_out(train)
    _add_settings(train, defaults)
    return train


def _add_hold_out(parser: argparse.ArgumentParser) -> None:
    """Add the argument that says on what the epoch is chosen."""
    parser.add_argument(
        "--hold-out",
        type=int,
        metavar="N",
        help="choose the epoch on the last N dialogues of the fold, instead of on val",
    )


def given_settings(arguments: argparse.Namespace, names: Iterable[str] = TRAINED) -> dict[str, Any]:
    """Return the settings that were named."""
    chosen = {name: getattr(arguments, name) for name in names}
    return {name: value for name, value in chosen.items() if value is not None}


def root_of(arguments: argparse.Namespace) -> DataRoot:
    """Return where the data lie. Raises as `corpus_root`."""
    from mwzeval.crosswoz.corpus.folds import corpus_root

    return corpus_root(arguments.revision, arguments.data)


def fold_of(arguments: argparse.Namespace, name: str | None = None) -> Fold:
    """Return the fold that was named, or another of the same data. Raises as `load_fold`."""
    from mwzeval.crosswoz.corpus.folds import load_fold

    return load_fold(root_of(arguments), name or arguments.fold, arguments.revision)


def training_and_validation(
    arguments: argparse.Namespace, fold: Fold
) -> tuple[list[Dialogue], list[Dialogue]]:
    """Return the dialogues to train on, and those on which the epoch is chosen.

    Raises `UsageError` when they would be the same or there would be none.
    """
    training, held_out = list(fold.dialogues.values()), arguments.hold_out
    if held_out is not None:
        if not 0 < held_out < len(training):
            raise UsageError(f"--hold-out is between 1 and {len(training) - 1} here")
        return training[:-held_out], training[-held_out:]
    if arguments.fold == "val":
        raise UsageError("to train on val, --hold-out some of its dialogues")
    return training, list(fold_of(arguments, "val").dialogues.values())


def header(arguments: argparse.Namespace, track: str, system: str, model: str) -> dict[str, Any]:
    """Return what a predictions file of a trained model says of itself."""
    from mwzeval.crosswoz.command_models import origin_of

    of_fold = {"dataset": NAME, "revision": arguments.revision, "split": arguments.fold}
    return {**of_fold, "track": track, "system": system, **origin_of(model)}


def write(arguments: argparse.Namespace, plain: Any, what: str = "") -> None:
    """Write plain values to the file that was named, and tell it."""
    write_output(arguments.output, json.dumps(plain, ensure_ascii=False) + "\n", what)
