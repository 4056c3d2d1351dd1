"""Train an NLU, or let one read a fold: `mwzeval crosswoz nlu train` and `predict`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from mwzeval.arguments import InputFile
from mwzeval.crosswoz import META
from mwzeval.crosswoz.command_models import note_training
from mwzeval.crosswoz.command_options import (
    add_fold,
    add_training,
    fold_of,
    given_settings,
    header,
    write,
)
from mwzeval.crosswoz.nlu.bert import BERT_SETTINGS, train_bert
from mwzeval.crosswoz.nlu.examples import NluSettings

if TYPE_CHECKING:
    from mwzeval.neural.training import Point


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    actions = parser.add_subparsers(dest="nlu_action", metavar="ACTION", required=True)
    train = add_training(actions, "NLU", NluSettings(), holds_out=False)
    train.add_argument(
        "--encoder",
        type=InputFile,
        metavar="FOLDER",
        help="fine-tune the BERT in this folder (config.json, vocab.txt, model.safetensors) "
        "instead of training a tagger of characters; then the defaults are "
        f"{BERT_SETTINGS.epochs} epochs of {BERT_SETTINGS.batch_size} examples a step, and a "
        f"learning rate of {BERT_SETTINGS.learning_rate:g}",
    )
    train.add_argument(
        "--no-context",
        action="store_false",
        dest="context",
        help="read the utterance alone, not those before it",
    )
    predict = actions.add_parser("predict", help="write the NLU track of a predictions file")
    predict.add_argument(
        "model", type=InputFile, metavar="MODEL", help="the folder of a trained NLU"
    )
    add_fold(predict)
    predict.add_argument("-o", "--output", required=True, metavar="FILE.json")


def run(arguments: argparse.Namespace) -> int:
    """Do it; return 0."""
    return {"train": _train, "predict": _predict}[arguments.nlu_action](arguments)


def _train(arguments: argparse.Namespace) -> int:
    from dataclasses import replace

    from mwzeval.crosswoz.corpus.database import Database
    from mwzeval.crosswoz.nlu.training import train_tagger

    given = {**given_settings(arguments), "context": arguments.context}
    fold = fold_of(arguments)
    dialogues, database = list(fold.dialogues.values()), Database(fold.tables)
    print("epoch    loss")
    if arguments.encoder is not None:
        settings = replace(BERT_SETTINGS, **given)
        train_bert(dialogues, arguments.encoder, arguments.output, settings, _show, database)
    else:
        train_tagger(dialogues, arguments.output, NluSettings(**given), _show, database)
    note_training(arguments)
    return 0


def _show(point: Point) -> None:
    print(f"{point.epoch:5} {point.loss:7.4f}", flush=True)


def _predict(arguments: argparse.Namespace) -> int:
    from mwzeval.crosswoz.nlu.loading import load_nlu

    nlu = load_nlu(arguments.model)
    dialogues = fold_of(arguments).dialogues.values()
    about = header(arguments, "nlu", str(arguments.model), arguments.model)
    write(arguments, {META: about, **nlu.predictions(dialogues)})
    return 0
