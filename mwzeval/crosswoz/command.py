"""CrossWOZ: statistics, simulation, rule systems and trained models.

statistics      print a fold and its database next to tables 1, 3, 6 and 7 of the paper
simulate        simulate dialogues between a user and a system, and count how many finish
policy          train the paper's policy, or write its predictions on a fold
nlu             train a tagger or fine-tune a BERT, or write predictions on a fold
nlg             train SC-LSTM, or generate sentences for the acts of a fold
dst             train TRADE, a state tracker, or write its predictions on a fold
baseline        write predictions of RuleDST, of the user simulator, of templates, or of gold
mine-templates  extract template files in the public format from a corpus

`mwzeval evaluate --benchmark crosswoz` scores predictions. The commands validate, compare, explain
and report also read predictions.
"""

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
from mwzeval.crosswoz.scoring.baselines import (
    BASELINES,
    Exchanges,
    baseline_file,
    generated_file,
    predictions_file,
)
from mwzeval.crosswoz.speakers import add_conversation, add_templates, setting_of
from mwzeval.crosswoz.systems.templates import mine_templates, write_templates
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
from mwzeval.errors import UsageError, printable
from mwzeval.output import notify, write_output, write_result
from mwzeval.text import to_json

if TYPE_CHECKING:
    from mwzeval.neural import TrainingSettings


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this command."""
    places = {"": parser.add_subparsers(dest="action", metavar="ACTION", required=True)}
    for group, summary in GROUPS.items():
        part = places[""].add_parser(group, help=summary)
        places[group] = part.add_subparsers(dest="part", metavar="ACTION", required=True)
    for name, (summary, add, do) in ACTIONS.items():
        group, _, last = name.rpartition(" ")
        action = places[group].add_parser(last, help=summary)
        add(action)
        action.set_defaults(do=do)
    former = places["dst"].add_parser("conventions", add_help=False, prefix_chars="\0")
    former.add_argument("rest", nargs="*")
    former.set_defaults(do=_refuse_conventions)


def run(arguments: Namespace) -> int:
    """Run the action; return 0."""
    arguments.do(arguments)
    return 0


def _refuse_conventions(_: Namespace) -> None:
    raise UsageError("`crosswoz dst conventions` was removed; docs/crosswoz.md has its figures")


def _add_fold(parser: ArgumentParser, default: str = "test") -> None:
    parser.add_argument("--fold", choices=FOLDS, default=default, help="default: %(default)s")
    add_corpus(parser)


def _fold(arguments: Namespace) -> Fold:
    root = corpus_root(arguments.revision, arguments.data)
    return load_fold(root, arguments.fold, arguments.revision)


def _add_output(parser: ArgumentParser) -> None:
    parser.add_argument("-o", "--output", required=True, metavar="FILE.json")


def _write(arguments: Namespace, plain: Any) -> None:
    """Write a predictions file, and print how many dialogues the file contains."""
    text = json.dumps(plain, ensure_ascii=False) + "\n"
    write_output(arguments.output, text, f": {len(plain) - 1} dialogues")


def _add_statistics(parser: ArgumentParser) -> None:
    _add_fold(parser)
    parser.add_argument("--json", action="store_true", help="as JSON, unrounded")


def _statistics(arguments: Namespace) -> None:
    from mwzeval.crosswoz.corpus.statistics import fold_statistics
    from mwzeval.scores.sheets import printed

    format_name = "json" if arguments.json else "text"
    write_result(printed(fold_statistics(_fold(arguments)), format_name), format_name)


def _add_simulate(parser: ArgumentParser) -> None:
    parser.set_defaults(
        interrupted="the dialogues so far are in the output; use --resume to continue"
    )
    parser.add_argument(
        "--per-type",
        type=int,
        default=1000,
        metavar="N",
        help="number of dialogues of each goal type",
    )
    parser.add_argument(
        "--system",
        default="rule",
        metavar="NAME",
        help="system: rule, rule-paper, the folder of a trained policy, or "
        "package.module:Name (default: %(default)s)",
    )
    parser.add_argument(
        "--time-limit",
        type=float,
        metavar="SECONDS",
        help="time limit of a call of the system or user, in seconds; after that, the dialogue "
        "ends (default: none)",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="N",
        help="random seed (default: %(default)s)",
    )
    parser.add_argument(
        "--processes",
        type=int,
        default=1,
        metavar="N",
        help="number of processes; does not change results",
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE.jsonl", help="output file for the dialogues"
    )
    parser.add_argument(
        "--resume", action="store_true", help="resume an interrupted run of the same command"
    )
    add_conversation(parser)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress bar")


def _simulate(arguments: Namespace) -> None:
    from mwzeval.crosswoz.simulation import simulate

    setting, about = setting_of(arguments, arguments.system)
    summary = simulate(
        setting,
        per_type=arguments.per_type,
        seed=arguments.seed,
        processes=arguments.processes,
        output=arguments.output,
        resume=arguments.resume,
        about=about,
        progress=False if arguments.quiet else None,
        time_limit=arguments.time_limit,
    )
    print(to_json(summary.to_json()) if arguments.json else summary.to_text(), end="")
    if arguments.output:
        notify(f"wrote {arguments.output}")


def _add_baseline(parser: ArgumentParser) -> None:
    parser.add_argument("system", choices=BASELINES)
    _add_fold(parser)
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        help="seed of the simulator and of templates (default: %(default)s)",
    )
    add_templates(parser, "template")
    _add_output(parser)


def _baseline(arguments: Namespace) -> None:
    given, mode = arguments.templates, arguments.template_mode
    if arguments.system != "template" and (given or mode):
        raise UsageError("--templates only applies to the baseline template")
    fold, seed = _fold(arguments), arguments.seed
    plain = baseline_file(fold, arguments.system, seed, templates=given, mode=mode)
    _write(arguments, plain)


def _add_mine(parser: ArgumentParser) -> None:
    _add_fold(parser, "train")
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="folder for the files")
    parser.set_defaults(writes_folder=True)


def _mine(arguments: Namespace) -> None:
    mined = mine_templates(_fold(arguments).dialogues.values())
    for path in write_templates(arguments.output, "auto", mined):
        write_result(printable(f"{path}\n", keep="\n"), "text")


TRAINED = {
    "epochs": "maximum number of passes over the training dialogues",
    "hidden": "width of the hidden layers",
    "learning_rate": "learning rate of Adam",
    "batch_size": "batch size",
    "seed": "random seed of the initial weights, the order of examples and dropout",
    "threads": "number of CPU threads; a different number may change the last digits",
}
"""The settings of every training and their descriptions."""
Dialogues = tuple[Sequence[Dialogue], Sequence[Dialogue]]
"""The training dialogues, and the dialogues with which the best epoch is selected."""
Train = Callable[..., object]
"""A function that trains a model, with the parameters `folder`, `settings` and `watch`."""


class Training(NamedTuple):
    """An action that trains a model: its output, its settings and its learning curve.

    `header` is the heading of the learning curve, and `line` is the format of a point of the curve.
    Without validation dialogues, the model of the last epoch is written.
    """

    what: str
    settings: TrainingSettings
    header: str
    line: str
    of_dialogues: Callable[[Namespace, Fold, Dialogues], Train]
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
        _add_fold(parser, "train")
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
        fold, seen = _fold(arguments), [arguments.fold]
        dialogues: Dialogues = list(fold.dialogues.values()), []
        if self.validates:
            root = corpus_root(arguments.revision, arguments.data)
            dialogues = training_and_validation(fold, arguments.hold_out, root)
            seen += [VALIDATION] if arguments.hold_out is None else []

        def show(*progress: Any) -> None:
            *side, point = progress
            past = point.epoch - 1
            print(self.line.format(*side, point=point, past=past, **point.scores), flush=True)

        print(self.header, flush=True)
        train = self.of_dialogues(arguments, fold, dialogues)
        train(folder=arguments.output, settings=settings, watch=show)
        write_note(arguments.output, arguments.revision, seen)
        notify(f"wrote {arguments.output}")


def _policy_training(arguments: Namespace, fold: Fold, dialogues: Dialogues) -> Train:
    from mwzeval.crosswoz.systems.sl_policy import load_vocabulary, train_policy

    vocabulary = load_vocabulary(corpus_root(arguments.revision, arguments.data))
    return partial(train_policy, *dialogues, Database(fold.tables), vocabulary)


def _nlu_training(arguments: Namespace, fold: Fold, dialogues: Dialogues) -> Train:
    from mwzeval.crosswoz.models.nlu import train_nlu

    database = Database(fold.tables)
    return partial(train_nlu, dialogues[0], database=database, encoder=arguments.encoder)


def _nlg_training(_: Namespace, __: Fold, dialogues: Dialogues) -> Train:
    from mwzeval.crosswoz.models.sclstm import train_sclstm

    return partial(train_sclstm, *dialogues)


def _dst_training(_: Namespace, __: Fold, dialogues: Dialogues) -> Train:
    from mwzeval.crosswoz.models.trade import train_trade

    return partial(train_trade, *dialogues)


TRAININGS = {
    "policy train": Training(
        "policy",
        PolicySettings(),
        "epoch  training  validation (cross-entropy)",
        "{past:5}  {point.loss:.6f}  {validation_loss:.6f}",
        _policy_training,
    ),
    "nlu train": Training(
        "NLU",
        NluSettings(),
        "epoch    loss",
        "{point.epoch:5} {point.loss:7.4f}",
        _nlu_training,
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
        _nlg_training,
    ),
    "dst train": Training(
        "tracker",
        TradeSettings(),
        "epoch      loss  joint accuracy",
        "{point.epoch:5}  {point.loss:8.4f}  {joint:14.2f}",
        _dst_training,
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
    _add_fold(parser)
    _add_output(parser)


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


def _write_track(
    arguments: Namespace, fold: Fold, track: str, system: str, exchanges: Exchanges, **meta: Any
) -> None:
    """Write predictions for a fold; the header has the training folds of the model."""
    meta = {"system": system, **read_note(arguments.model), **meta}
    _write(arguments, predictions_file(fold, track, exchanges, **meta))


def _predict_policy(arguments: Namespace) -> None:
    from mwzeval.crosswoz.systems.sl_policy import SlPolicy, predicted_acts

    policy = SlPolicy.load(arguments.model)
    fold, compatible = _fold(arguments), arguments.paper_compatible
    database = Database(fold.tables)

    def exchanges(dialogue: Dialogue) -> list[dict[str, Any]]:
        acts = predicted_acts(policy, dialogue, database, paper_compatible=compatible)
        return [{"system_acts": of_turn} for of_turn in acts]

    meta = {"paper_compatible": compatible}
    _write_track(arguments, fold, "policy", "SL policy", exchanges, **meta)


def _predict_nlu(arguments: Namespace) -> None:
    from mwzeval.crosswoz.models.nlu import load_nlu

    nlu = load_nlu(arguments.model)
    _write_track(arguments, _fold(arguments), "nlu", str(arguments.model), nlu.exchanges)


def _generate(arguments: Namespace) -> None:
    from mwzeval.crosswoz.models.sclstm import load_sclstm

    model, beam = arguments.model, arguments.beam
    if beam < 1:
        raise UsageError("--beam must be 1 or more")
    nlg = load_sclstm(model, beam)
    meta = {"beam": beam, **read_note(model)}
    seed = nlg.sides["user"].seed
    _write(arguments, generated_file(_fold(arguments), nlg, f"SC-LSTM {model}", seed, **meta))


def _predict_dst(arguments: Namespace) -> None:
    from mwzeval.crosswoz.models.trade import TradeTracker
    from mwzeval.neural import reproducible

    tracker = TradeTracker.load(arguments.model)
    settings = tracker.vocabulary.settings
    meta = {"conditioning": PREDICTED_HISTORY, "seed": settings.seed}
    with reproducible(settings):
        _write_track(arguments, _fold(arguments), "dst", "TRADE", tracker.exchanges, **meta)


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
    "statistics": ("print statistics of a fold and its database", _add_statistics, _statistics),
    "simulate": ("simulate dialogues between a user and a system", _add_simulate, _simulate),
    "baseline": (
        "write the predictions of a rule system, or the gold data as predictions",
        _add_baseline,
        _baseline,
    ),
    "mine-templates": ("extract template files from a corpus", _add_mine, _mine),
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
