"""Training and prediction of CrossWOZ's models (policy, NLU, NLG, DST) on the command line."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from mwzeval.arguments import InputFile
from mwzeval.crosswoz.corpus.database import Database
from mwzeval.crosswoz.corpus.dialogues import Dialogue
from mwzeval.crosswoz.corpus.folds import FOLDS, Fold, add_corpus, corpus_root, load_fold
from mwzeval.crosswoz.scoring.baselines import generated_file, predictions_file
from mwzeval.crosswoz.tracks import PREDICTED_HISTORY
from mwzeval.crosswoz.training import (
    BERT_SETTINGS,
    VALIDATION,
    NluSettings,
    PolicySettings,
    SclstmSettings,
    TradeSettings,
    read_note,
    training_and_validation,
    write_note,
)
from mwzeval.errors import UsageError
from mwzeval.output import notify, write_output

if TYPE_CHECKING:
    from mwzeval.crosswoz.models.sclstm import WatchSide
    from mwzeval.neural import TrainingSettings, Watch

TRAINED = {
    "epochs": "maximum number of passes over the training dialogues",
    "hidden": "width of the hidden layers",
    "learning_rate": "learning rate of Adam",
    "batch_size": "batch size",
    "seed": "random seed of the initial weights, the order of examples and dropout",
    "threads": "number of CPU threads; a different number may change the last digits",
}
"""The settings of every training and their descriptions."""


def add_fold(parser: ArgumentParser, default: str = "test") -> None:
    """Add the arguments for the fold and its location; `named_fold` reads them."""
    parser.add_argument("--fold", choices=FOLDS, default=default, help="default: %(default)s")
    add_corpus(parser)


def named_fold(arguments: Namespace) -> Fold:
    """Return the fold that the arguments name. Raises the errors of `load_fold`."""
    root = corpus_root(arguments.revision, arguments.data)
    return load_fold(root, arguments.fold, arguments.revision)


def add_output(parser: ArgumentParser) -> None:
    """Add the argument for the output file of predictions."""
    parser.add_argument("-o", "--output", required=True, metavar="FILE.json")


def write_predictions(arguments: Namespace, plain: Any) -> None:
    """Write a predictions file, and print how many dialogues the file contains."""
    text = json.dumps(plain, ensure_ascii=False) + "\n"
    write_output(arguments.output, text, f": {len(plain) - 1} dialogues")


Dialogues = tuple[Sequence[Dialogue], Sequence[Dialogue]]
"""The training dialogues, and the dialogues with which the best epoch is selected."""


class Training(NamedTuple):
    """An action that trains a model: its output, its settings and its learning curve.

    `header` is the heading of the learning curve, and `line` is the format of a point of the curve.
    Without validation dialogues, the model of the last epoch is written.
    """

    what: str
    settings: TrainingSettings
    header: str
    line: str
    train: Callable[[Namespace, Fold, Dialogues, Any, Any], object]
    validates: bool = True
    options: Mapping[str, Mapping[str, Any]] = MappingProxyType({})
    """Options that only this training has, with the arguments of `add_argument`."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the command-line arguments that all training actions share."""
        parser.set_defaults(
            interrupted="repeat the same command to resume after the last saved epoch",
            writes_folder=True,
        )
        place = f"folder of the {self.what}"
        parser.add_argument("-o", "--output", required=True, metavar="DIR", help=place)
        add_fold(parser, "train")
        if self.validates:
            parser.add_argument(
                "--hold-out",
                type=int,
                metavar="N",
                help="select the best epoch on the last N dialogues of the fold, instead of on val",
            )
        for name, meaning in TRAINED.items():
            default = getattr(self.settings, name)
            parser.add_argument(
                f"--{name.replace('_', '-')}",
                type=type(default),
                metavar="N",
                help=f"{meaning} (default: {default})",
            )
        for name, described in self.options.items():
            parser.add_argument(name, **described)

    def run(self, arguments: Namespace) -> None:
        """Train a model with the given settings, and record the folds of the training data."""
        options = (*TRAINED, "context", "characters")
        given = {name: getattr(arguments, name, None) for name in options}
        defaults = BERT_SETTINGS if getattr(arguments, "encoder", None) else self.settings
        chosen = {name: value for name, value in given.items() if value is not None}
        settings = replace(defaults, **chosen)
        fold, seen = named_fold(arguments), [arguments.fold]
        dialogues: Dialogues = list(fold.dialogues.values()), []
        if self.validates:
            root = corpus_root(arguments.revision, arguments.data)
            dialogues = training_and_validation(fold, arguments.hold_out, root)
            seen += [VALIDATION] if arguments.hold_out is None else []

        def show(*of: Any) -> None:
            *side, point = of
            past = point.epoch - 1
            print(self.line.format(*side, point=point, past=past, **point.scores), flush=True)

        print(self.header, flush=True)
        self.train(arguments, fold, dialogues, settings, show)
        write_note(arguments.output, arguments.revision, seen)
        notify(f"wrote {arguments.output}")


def _train_policy(
    arguments: Namespace, fold: Fold, dialogues: Dialogues, settings: PolicySettings, show: Watch
) -> None:
    from mwzeval.crosswoz.models.sl import train_policy
    from mwzeval.crosswoz.systems.sl_policy import load_vocabulary

    vocabulary = load_vocabulary(corpus_root(arguments.revision, arguments.data))
    database = Database(fold.tables)
    train_policy(*dialogues, database, vocabulary, arguments.output, settings, show)


def _train_nlu(
    arguments: Namespace, fold: Fold, dialogues: Dialogues, settings: NluSettings, show: Watch
) -> None:
    from mwzeval.crosswoz.models.nlu import train_nlu

    database = Database(fold.tables)
    train_nlu(dialogues[0], arguments.output, settings, show, database, arguments.encoder)


def _train_nlg(
    arguments: Namespace, _: Fold, dialogues: Dialogues, settings: SclstmSettings, show: WatchSide
) -> None:
    from mwzeval.crosswoz.models.sclstm import train_sclstm

    train_sclstm(*dialogues, arguments.output, settings, show)


def _train_dst(
    arguments: Namespace, _: Fold, dialogues: Dialogues, settings: TradeSettings, show: Watch
) -> None:
    from mwzeval.crosswoz.models.trade import train_trade

    train_trade(*dialogues, arguments.output, settings, show)


TRAININGS = {
    "policy train": Training(
        "policy",
        PolicySettings(),
        "epoch  training  validation (cross-entropy)",
        "{past:5}  {point.loss:.6f}  {validation_loss:.6f}",
        _train_policy,
    ),
    "nlu train": Training(
        "NLU",
        NluSettings(),
        "epoch    loss",
        "{point.epoch:5} {point.loss:7.4f}",
        _train_nlu,
        validates=False,
        options={
            "--encoder": {
                "type": InputFile,
                "metavar": "FOLDER",
                "help": "fine-tune the BERT in this folder (config.json, vocab.txt, "
                "model.safetensors) instead of training a tagger of characters; the defaults "
                f"are then {BERT_SETTINGS.epochs} epochs of {BERT_SETTINGS.batch_size} examples "
                f"per step, and a learning rate of {BERT_SETTINGS.learning_rate:g}",
            },
            "--no-context": {
                "action": "store_false",
                "dest": "context",
                "help": "use only the current utterance, without the previous utterances",
            },
        },
    ),
    "nlg train": Training(
        "generators",
        SclstmSettings(),
        "side    epoch  training  validation (nats per token)",
        "{:6}  {point.epoch:5}  {point.loss:8.4f}  {validation_loss:8.4f}",
        _train_nlg,
    ),
    "dst train": Training(
        "tracker",
        TradeSettings(),
        "epoch      loss  joint accuracy",
        "{point.epoch:5}  {point.loss:8.4f}  {joint:14.2f}",
        _train_dst,
        options={
            "--characters": {
                "action": "store_true",
                "help": "read and write characters instead of words",
            }
        },
    ),
}


def _add_predict(parser: ArgumentParser, what: str) -> None:
    parser.add_argument("model", type=InputFile, metavar="MODEL", help=what)
    add_fold(parser)
    add_output(parser)


def _add_policy_predict(parser: ArgumentParser) -> None:
    _add_predict(parser, "file or folder of a trained policy")
    parser.add_argument(
        "--paper-compatible",
        action="store_true",
        help="reproduce an error of the paper's code: every turn from the third on is treated "
        "as the last turn",
    )


def _add_generate(parser: ArgumentParser) -> None:
    _add_predict(parser, "the folder of trained generators")
    parser.add_argument(
        "--beam",
        type=int,
        default=10,
        metavar="N",
        help="beam width; 1 is greedy search (default: %(default)s)",
    )


def _predict_policy(arguments: Namespace) -> None:
    from mwzeval.crosswoz.systems.sl_policy import SlPolicy, predicted_acts

    policy = SlPolicy.load(arguments.model)
    fold, compatible = named_fold(arguments), arguments.paper_compatible
    database = Database(fold.tables)

    def exchanges(dialogue: Dialogue) -> list[dict[str, Any]]:
        acts = predicted_acts(policy, dialogue, database, paper_compatible=compatible)
        return [{"system_acts": of_turn} for of_turn in acts]

    meta = {"system": "SL policy", **read_note(arguments.model), "paper_compatible": compatible}
    write_predictions(arguments, predictions_file(fold, "policy", exchanges, **meta))


def _predict_nlu(arguments: Namespace) -> None:
    from mwzeval.crosswoz.models.nlu import load_nlu

    nlu = load_nlu(arguments.model)
    meta = {"system": str(arguments.model), **read_note(arguments.model)}
    plain = predictions_file(named_fold(arguments), "nlu", nlu.exchanges, **meta)
    write_predictions(arguments, plain)


def _generate(arguments: Namespace) -> None:
    from mwzeval.crosswoz.models.sclstm import load_sclstm

    model, beam = arguments.model, arguments.beam
    if beam < 1:
        raise UsageError("--beam must be 1 or more")
    nlg = load_sclstm(model, beam)
    meta = {"beam": beam, **read_note(model)}
    seed = nlg.sides["user"].seed
    plain = generated_file(named_fold(arguments), nlg, f"SC-LSTM {model}", seed, **meta)
    write_predictions(arguments, plain)


def _predict_dst(arguments: Namespace) -> None:
    from mwzeval.crosswoz.models.trade import TradeTracker
    from mwzeval.neural import reproducible

    tracker = TradeTracker.load(arguments.model)
    settings = tracker.vocabulary.settings
    meta = {"system": "TRADE", **read_note(arguments.model), "conditioning": PREDICTED_HISTORY}
    meta["seed"] = settings.seed
    fold = named_fold(arguments)
    with reproducible(settings):
        plain = predictions_file(fold, "dst", tracker.exchanges, **meta)
    write_predictions(arguments, plain)


GROUPS = {
    "policy": "train the paper's policy",
    "nlu": "train or use an NLU",
    "nlg": "train or use SC-LSTM",
    "dst": "train or use TRADE",
}
Action = tuple[str, Callable[[ArgumentParser], None], Callable[[Namespace], None]]
"""An action: its description, the function that adds arguments, and the function that runs it."""
_TRAIN = "train; repeat the command to resume"
ACTIONS: Mapping[str, Action] = {
    **{name: (_TRAIN, action.add_arguments, action.run) for name, action in TRAININGS.items()},
    "policy predict": ("write the predictions of a policy", _add_policy_predict, _predict_policy),
    "nlu predict": (
        "write the NLU track of a predictions file",
        partial(_add_predict, what="the folder of a trained NLU"),
        _predict_nlu,
    ),
    "nlg generate": ("write the NLG track of a predictions file", _add_generate, _generate),
    "dst predict": (
        "write the DST track of a predictions file",
        partial(_add_predict, what="file or folder of a trained tracker"),
        _predict_dst,
    ),
}
