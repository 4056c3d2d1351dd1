"""TRADE on the command line: train it, let it track a fold, and read its score in other ways."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from mwzeval.arguments import InputFile, add_files, file_of
from mwzeval.crosswoz import META
from mwzeval.crosswoz.command_models import note_training
from mwzeval.crosswoz.command_options import (
    TRAINED,
    add_fold,
    add_training,
    fold_of,
    given_settings,
    header,
    training_and_validation,
    write,
)
from mwzeval.crosswoz.trade.examples import TradeSettings
from mwzeval.output import write_result

if TYPE_CHECKING:
    from mwzeval.neural.training import Point

SETTINGS = (*TRAINED, "characters")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    actions = parser.add_subparsers(dest="dst_action", metavar="ACTION", required=True)
    train = add_training(actions, "tracker", TradeSettings())
    train.add_argument(
        "--characters",
        action="store_true",
        default=None,
        help="read and write characters instead of words",
    )
    predict = actions.add_parser("predict", help="write the DST track of a predictions file")
    predict.add_argument(
        "model", type=InputFile, metavar="MODEL", help="file or folder of a trained tracker"
    )
    add_fold(predict)
    predict.add_argument("-o", "--output", required=True, metavar="FILE.json")
    conventions = actions.add_parser(
        "conventions", help="joint accuracy as the public code may be read, beside ours"
    )
    add_files(conventions, "predictions with the DST track", "FILE.json", several=False)
    add_fold(conventions, None)


def run(arguments: argparse.Namespace) -> int:
    """Do it; return 0."""
    actions = {"train": _train, "predict": _predict, "conventions": _conventions}
    actions[arguments.dst_action](arguments)
    return 0


def _train(arguments: argparse.Namespace) -> None:
    from mwzeval.crosswoz.trade.training import train_trade

    settings = TradeSettings(**given_settings(arguments, SETTINGS))
    training, validation = training_and_validation(arguments, fold_of(arguments))
    print("epoch      loss  joint accuracy")
    train_trade(training, validation, arguments.output, settings, _show)
    note_training(arguments)


def _show(point: Point) -> None:
    print(f"{point.epoch:5}  {point.loss:8.4f}  {point.scores['joint']:14.2f}", flush=True)


def _predict(arguments: argparse.Namespace) -> None:
    from mwzeval.crosswoz.predictions.tracks import PREDICTED_HISTORY
    from mwzeval.crosswoz.trade.model import TradeTracker
    from mwzeval.neural.training import reproducible

    tracker = TradeTracker.load(arguments.model)
    dialogues = fold_of(arguments).dialogues
    about = header(arguments, "dst", "TRADE", arguments.model)
    about |= {"conditioning": PREDICTED_HISTORY, "seed": tracker.settings.seed}
    with reproducible(tracker.settings):
        plain = {META: about, **tracker.predictions(dialogues.values())}
    write(arguments, plain, f": {len(dialogues)} dialogues")


def _conventions(arguments: argparse.Namespace) -> None:
    from mwzeval.crosswoz.benchmark import CrossWozScorer
    from mwzeval.crosswoz.predictions.checking import Options
    from mwzeval.crosswoz.predictions.tracks import DST
    from mwzeval.crosswoz.trade.conventions import accuracies_document, joint_accuracies
    from mwzeval.scores.sheets import printed

    of_fold = (arguments.revision, arguments.fold, arguments.data)
    scorer = CrossWozScorer(Options(tracks=(DST.name,)), *of_fold)
    checked = scorer.score_predictions(file_of(arguments)).checked
    gold, predicted = checked.gold.fold.dialogues, checked.predictions.dialogues
    write_result(printed(accuracies_document(joint_accuracies(gold, predicted)), "text"), "text")
