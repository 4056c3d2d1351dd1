"""CrossWOZ beyond scoring: its statistics, its rule systems and those that are trained.

statistics      print a fold and its database beside tables 1, 3, 6 and 7 of the paper
simulate        let a user simulator talk to a system, and count how many dialogues finish
policy          train the paper's policy, or let it speak on a fold
nlu             train a tagger or fine-tune a BERT, or let one read a fold
nlg             train SC-LSTM, or let it say the acts of a fold
dst             train TRADE, which tracks states by words, or let it track a fold
baseline        write predictions of RuleDST, of the user simulator, of templates, or of gold
mine-templates  make template files in the public format from a corpus

Scoring is `mwzeval evaluate --benchmark crosswoz`; validate, compare, explain, report likewise.
"""

from __future__ import annotations

import json
from argparse import REMAINDER, ArgumentParser, Namespace
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mwzeval.arguments import InputFile
from mwzeval.crosswoz import LEARNED_FROM, META, NAME
from mwzeval.crosswoz.corpus.database import Database
from mwzeval.crosswoz.corpus.dialogues import Dialogue
from mwzeval.crosswoz.corpus.file_shapes import is_texts
from mwzeval.crosswoz.corpus.folds import FOLDS, REVISIONS, Fold, corpus_root, load_fold
from mwzeval.crosswoz.settings import (
    BERT_SETTINGS,
    NluSettings,
    PolicySettings,
    SclstmSettings,
    TradeSettings,
)
from mwzeval.crosswoz.speakers import add_conversation, add_templates, setting_of
from mwzeval.errors import InputError, Problem, UsageError, printable
from mwzeval.files.reading import read_json
from mwzeval.files.writing import write_atomically
from mwzeval.output import tell, write_output, write_result
from mwzeval.text import to_json

if TYPE_CHECKING:
    from mwzeval.crosswoz.protocols import Side
    from mwzeval.neural.training import Point, TrainingSettings

BASELINES = (
    *("rule-dst", "rule-dst-full", "simulator", "template"),
    *("gold-nlu", "gold-dst", "gold-policy", "gold-nlg"),
)
VALIDATION = "val"
NOTE_FILE = "learned_from.json"
"""Training writes it beside a model, with the folds that the model has seen. Predictions have the
same, so that a model that is scored on dialogues from which it learned causes a warning."""
TRAINED = {
    "epochs": "passes over the training dialogues, at most",
    "hidden": "width of the hidden layers",
    "learning_rate": "of Adam",
    "batch_size": "examples of a step",
    "seed": "of first weights, order and dropout",
    "threads": "CPU threads; another number may change the last digits",
}
"""The settings of every training, and what they are."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this verb."""
    places = {"": parser.add_subparsers(dest="action", metavar="ACTION", required=True)}
    for group, summary in GROUPS.items():
        part = places[""].add_parser(group, help=summary)
        places[group] = part.add_subparsers(dest="part", metavar="ACTION", required=True)
    for name, (summary, add, do) in ACTIONS.items():
        group, _, last = name.rpartition(" ")
        action = places[group].add_parser(last, help=summary)
        add(action)
        action.set_defaults(do=do)
    former = places["dst"].add_parser("conventions", add_help=False)
    former.add_argument("rest", nargs=REMAINDER)
    former.set_defaults(do=_refuse_conventions)


def run(arguments: Namespace) -> int:
    """Run the action; return 0."""
    arguments.do(arguments)
    return 0


def _refuse_conventions(_: Namespace) -> None:
    raise UsageError("`crosswoz dst conventions` was removed; docs/crosswoz.md has its figures")


def _add_fold(parser: ArgumentParser, default: str = "test") -> None:
    """Add the arguments that name a fold and where it is; `_fold` reads them."""
    parser.add_argument("--fold", choices=FOLDS, default=default, help="default: %(default)s")
    parser.add_argument(
        "--revision",
        choices=tuple(REVISIONS),
        default=next(iter(REVISIONS)),
        help="of the corpus (default: %(default)s)",
    )
    parser.add_argument("--data", metavar="DIR", help="in the public layout")


def _fold(arguments: Namespace, name: str | None = None) -> Fold:
    """Return the fold that was named, or another of the same data. Raises as `load_fold`."""
    root = corpus_root(arguments.revision, arguments.data)
    return load_fold(root, name or arguments.fold, arguments.revision)


def _add_output(parser: ArgumentParser) -> None:
    parser.add_argument("-o", "--output", required=True, metavar="FILE.json")


def _write(arguments: Namespace, plain: Any, more: str = "") -> None:
    write_output(arguments.output, json.dumps(plain, ensure_ascii=False) + "\n", more)


def _add_statistics(parser: ArgumentParser) -> None:
    _add_fold(parser)
    parser.add_argument("--json", action="store_true", help="as JSON, unrounded")


def _statistics(arguments: Namespace) -> None:
    from mwzeval.crosswoz.corpus.statistics import fold_statistics, statistics_document
    from mwzeval.scores.sheets import printed

    format_name = "json" if arguments.json else "text"
    counted = statistics_document(fold_statistics(_fold(arguments)))
    write_result(printed(counted, format_name), format_name)


def _add_simulate(parser: ArgumentParser) -> None:
    parser.set_defaults(interrupted="dialogues so far are in the output, and --resume goes on")
    parser.add_argument(
        "--per-type", type=int, default=1000, metavar="N", help="dialogues of each goal type"
    )
    parser.add_argument(
        "--system",
        default="rule",
        metavar="NAME",
        help="rule, rule-paper, the folder of a trained policy, or package.module:Name "
        "(default: %(default)s)",
    )
    parser.add_argument(
        "--time-limit",
        type=float,
        metavar="SECONDS",
        help="end a dialogue whose system or user takes longer for one call (default: wait)",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="default: %(default)s")
    parser.add_argument("--processes", type=int, default=1, metavar="N", help="change no result")
    parser.add_argument("-o", "--output", metavar="FILE.jsonl", help="where the dialogues go")
    parser.add_argument(
        "--resume", action="store_true", help="go on where the output of the same call ends"
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
        tell(f"wrote {arguments.output}")


def _add_training(
    parser: ArgumentParser, what: str, defaults: TrainingSettings, *, holds_out: bool = True
) -> None:
    """Add what all trainings have; `holds_out`: the epoch is chosen on dialogues of their own."""
    parser.set_defaults(
        interrupted="the same call goes on after the last epoch that was saved",
        writes_folder=True,
    )
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help=f"of the {what}")
    _add_fold(parser, "train")
    if holds_out:
        parser.add_argument(
            "--hold-out",
            type=int,
            metavar="N",
            help="choose the epoch on the last N dialogues of the fold, instead of on val",
        )
    for name, meaning in TRAINED.items():
        default = getattr(defaults, name)
        parser.add_argument(
            f"--{name.replace('_', '-')}",
            type=type(default),
            metavar="N",
            help=f"{meaning} (default: {default})",
        )


def _given(arguments: Namespace, *more: str) -> dict[str, Any]:
    """Return the settings that were named."""
    chosen = {name: getattr(arguments, name) for name in (*TRAINED, *more)}
    return {name: value for name, value in chosen.items() if value is not None}


def _training_and_validation(
    arguments: Namespace, fold: Fold
) -> tuple[list[Dialogue], list[Dialogue]]:
    """Return the dialogues to train on, and those on which the epoch is chosen.

    Raises `UsageError` when they would be the same or there would be none.
    """
    training, held_out = list(fold.dialogues.values()), arguments.hold_out
    if held_out is not None:
        if not 0 < held_out < len(training):
            raise UsageError(f"--hold-out is between 1 and {len(training) - 1} here")
        return training[:-held_out], training[-held_out:]
    if arguments.fold == VALIDATION:
        raise UsageError("to train on val, --hold-out some of its dialogues")
    return training, list(_fold(arguments, VALIDATION).dialogues.values())


def _note_training(arguments: Namespace) -> None:
    seen = [arguments.fold]
    if "hold_out" in arguments and arguments.hold_out is None:
        seen.append(VALIDATION)
    note = {"revision": arguments.revision, LEARNED_FROM: seen}
    write_atomically(Path(arguments.output, NOTE_FILE), json.dumps(note) + "\n")
    tell(f"wrote {arguments.output}")


def _origin(model: str | Path) -> dict[str, Any]:
    """Return what `_meta` says of the folds that a model has seen; nothing where no note is.

    Raises `InputError` for a note that is none.
    """
    folder = Path(model)
    note = (folder if folder.is_dir() else folder.parent) / NOTE_FILE
    if not note.is_file():
        return {}
    plain = read_json(note)
    seen = plain.get(LEARNED_FROM) if isinstance(plain, dict) else None
    if not isinstance(seen, list) or not is_texts(seen):
        raise InputError([Problem("bad-model", f"it has no list {LEARNED_FROM}", file=str(note))])
    return {LEARNED_FROM: seen}


def _show(text: str) -> None:
    print(text, flush=True)


def _add_predict(parser: ArgumentParser, what: str) -> None:
    parser.add_argument("model", type=InputFile, metavar="MODEL", help=what)
    _add_fold(parser)
    _add_output(parser)


def _header(arguments: Namespace, track: str, system: str, **more: Any) -> dict[str, Any]:
    """Return what a predictions file of a trained model says of itself."""
    about = {"dataset": NAME, "revision": arguments.revision, "split": arguments.fold}
    about |= {"track": track, "system": system, **_origin(arguments.model), **more}
    return {META: about}


def _train_policy(arguments: Namespace) -> None:
    from mwzeval.crosswoz.models.sl import train_policy
    from mwzeval.crosswoz.systems.sl_policy import load_vocabulary

    def show(point: Point) -> None:
        losses = f"{point.loss:.6f}  {point.scores['validation_loss']:.6f}"
        _show(f"{point.epoch - 1:5}  {losses}")

    fold = _fold(arguments)
    training, validation = _training_and_validation(arguments, fold)
    vocabulary = load_vocabulary(corpus_root(arguments.revision, arguments.data))
    settings = PolicySettings(**_given(arguments))
    _show("epoch  training  validation (cross-entropy)")
    database = Database(fold.tables)
    train_policy(training, validation, database, vocabulary, arguments.output, settings, show)
    _note_training(arguments)


def _add_policy_predict(parser: ArgumentParser) -> None:
    _add_predict(parser, "file or folder of a trained policy")
    parser.add_argument(
        "--paper-compatible",
        action="store_true",
        help="with the paper's defect: every turn from the third on is taken for the last one",
    )


def _predict_policy(arguments: Namespace) -> None:
    from mwzeval.crosswoz.systems.sl_policy import SlPolicy, predicted_acts

    policy = SlPolicy.load(arguments.model)
    fold, compatible = _fold(arguments), arguments.paper_compatible
    database = Database(fold.tables)
    plain = _header(arguments, "policy", "SL policy", paper_compatible=compatible)
    for name, dialogue in fold.dialogues.items():
        acts = predicted_acts(policy, dialogue, database, paper_compatible=compatible)
        plain[name] = [{"turn": turn, "system_acts": of_turn} for turn, of_turn in enumerate(acts)]
    _write(arguments, plain, f": {len(fold.dialogues)} dialogues")


def _add_nlu_train(parser: ArgumentParser) -> None:
    _add_training(parser, "NLU", NluSettings(), holds_out=False)
    parser.add_argument(
        "--encoder",
        type=InputFile,
        metavar="FOLDER",
        help="fine-tune the BERT in this folder (config.json, vocab.txt, model.safetensors) "
        "instead of training a tagger of characters; then the defaults are "
        f"{BERT_SETTINGS.epochs} epochs of {BERT_SETTINGS.batch_size} examples a step, and a "
        f"learning rate of {BERT_SETTINGS.learning_rate:g}",
    )
    parser.add_argument(
        "--no-context",
        action="store_false",
        dest="context",
        help="read the utterance alone, not those before it",
    )


def _train_nlu(arguments: Namespace) -> None:
    from mwzeval.crosswoz.models.bert import train_bert
    from mwzeval.crosswoz.models.nlu import train_tagger

    def show(point: Point) -> None:
        _show(f"{point.epoch:5} {point.loss:7.4f}")

    given, fold, output = _given(arguments, "context"), _fold(arguments), arguments.output
    dialogues, database = list(fold.dialogues.values()), Database(fold.tables)
    _show("epoch    loss")
    if arguments.encoder is None:
        train_tagger(dialogues, output, NluSettings(**given), show, database)
    else:
        settings = replace(BERT_SETTINGS, **given)
        train_bert(dialogues, arguments.encoder, output, settings, show, database)
    _note_training(arguments)


def _predict_nlu(arguments: Namespace) -> None:
    from mwzeval.crosswoz.models.bert import load_nlu

    nlu = load_nlu(arguments.model)
    dialogues = _fold(arguments).dialogues.values()
    _write(arguments, _header(arguments, "nlu", str(arguments.model)) | nlu.predictions(dialogues))


def _train_nlg(arguments: Namespace) -> None:
    from mwzeval.crosswoz.models.sclstm import train_sclstm

    def show(side: Side, point: Point) -> None:
        losses = f"{point.loss:8.4f}  {point.scores['validation_loss']:8.4f}"
        _show(f"{side:6}  {point.epoch:5}  {losses}")

    settings = SclstmSettings(**_given(arguments))
    training, validation = _training_and_validation(arguments, _fold(arguments))
    _show("side    epoch  training  validation (nats a token)")
    train_sclstm(training, validation, arguments.output, settings, show)
    _note_training(arguments)


def _add_generate(parser: ArgumentParser) -> None:
    _add_predict(parser, "the folder of trained generators")
    parser.add_argument(
        "--beam", type=int, default=10, metavar="N", help="width; 1: greedy (default: %(default)s)"
    )


def _generate(arguments: Namespace) -> None:
    from mwzeval.crosswoz.models.sclstm import load_sclstm
    from mwzeval.crosswoz.scoring.baselines import spoken_file

    model, beam = arguments.model, arguments.beam
    if beam < 1:
        raise UsageError("--beam is 1 or more")
    nlg = load_sclstm(model, beam)
    seed = nlg.sides["user"].seed
    plain = spoken_file(_fold(arguments), nlg, f"SC-LSTM {model}", seed, beam=beam)
    plain[META] |= _origin(model)
    _write(arguments, plain)


def _add_dst_train(parser: ArgumentParser) -> None:
    _add_training(parser, "tracker", TradeSettings())
    parser.add_argument(
        "--characters",
        action="store_true",
        help="read and write characters instead of words",
    )


def _train_dst(arguments: Namespace) -> None:
    from mwzeval.crosswoz.models.trade import train_trade

    def show(point: Point) -> None:
        _show(f"{point.epoch:5}  {point.loss:8.4f}  {point.scores['joint']:14.2f}")

    settings = TradeSettings(**_given(arguments, "characters"))
    training, validation = _training_and_validation(arguments, _fold(arguments))
    _show("epoch      loss  joint accuracy")
    train_trade(training, validation, arguments.output, settings, show)
    _note_training(arguments)


def _predict_dst(arguments: Namespace) -> None:
    from mwzeval.crosswoz.models.trade import TradeTracker
    from mwzeval.crosswoz.tracks import PREDICTED_HISTORY
    from mwzeval.neural.training import reproducible

    tracker = TradeTracker.load(arguments.model)
    settings = tracker.vocabulary.settings
    dialogues = _fold(arguments).dialogues
    conditions = {"conditioning": PREDICTED_HISTORY, "seed": settings.seed}
    with reproducible(settings):
        predicted = tracker.predictions(dialogues.values())
    plain = _header(arguments, "dst", "TRADE", **conditions) | predicted
    _write(arguments, plain, f": {len(dialogues)} dialogues")


def _add_baseline(parser: ArgumentParser) -> None:
    parser.add_argument("system", choices=BASELINES)
    _add_fold(parser)
    parser.add_argument(
        "--seed", type=int, default=0, help="of simulator and template (default: %(default)s)"
    )
    add_templates(parser, "template")
    _add_output(parser)


def _baseline(arguments: Namespace) -> None:
    from mwzeval.crosswoz.scoring.baselines import (
        gold_file,
        rule_tracker_file,
        simulator_file,
        spoken_file,
    )
    from mwzeval.crosswoz.systems.templates import TemplateNlg, load_templates
    from mwzeval.crosswoz.tracks import GOLD_ACTS, GOLD_PREVIOUS_STATE, NLG, TRACKS

    fold, name = _fold(arguments), arguments.system
    if name == "template":
        mode: Any = arguments.template_mode or "auto_manual"
        nlg = TemplateNlg(load_templates(arguments.templates), mode)
        plain = spoken_file(fold, nlg, f"templates, {mode}", arguments.seed)
    elif arguments.templates or arguments.template_mode:
        raise UsageError("templates are for the baseline template")
    elif name.startswith("rule-dst"):
        plain = rule_tracker_file(fold, GOLD_PREVIOUS_STATE if name == "rule-dst" else GOLD_ACTS)
    elif name == "simulator":
        plain = simulator_file(fold, arguments.seed)
    else:
        track = TRACKS[name.removeprefix("gold-")]
        conditioned = {"conditioning": GOLD_PREVIOUS_STATE} if track.name == "dst" else {}
        # A policy's acts have values or none, words are of one side or of both.
        some = track.any_of if track is NLG else track.any_of[:1]
        fields = (*track.required, *some, *track.optional)
        plain = gold_file(fold, track.name, fields, **conditioned)
    _write(arguments, plain)


def _add_mine(parser: ArgumentParser) -> None:
    _add_fold(parser, "train")
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="of the files")
    parser.set_defaults(writes_folder=True)


def _mine(arguments: Namespace) -> None:
    from mwzeval.crosswoz.systems.templates import mine_templates, write_templates

    mined = mine_templates(_fold(arguments).dialogues.values())
    for path in write_templates(arguments.output, "auto", mined):
        write_result(printable(f"{path}\n", keep="\n"), "text")


GROUPS = {
    "policy": "the paper's policy",
    "nlu": "train or use an NLU",
    "nlg": "train or use SC-LSTM",
    "dst": "train or use TRADE",
}
TRAIN = "train; called again, it goes on where it was"
ACTIONS: Mapping[str, tuple[str, Callable[[ArgumentParser], None], Callable[[Namespace], None]]] = {
    "statistics": ("count a fold and its database", _add_statistics, _statistics),
    "simulate": ("a user simulator talks to a system", _add_simulate, _simulate),
    "policy train": (TRAIN, lambda p: _add_training(p, "policy", PolicySettings()), _train_policy),
    "policy predict": ("write what a policy says", _add_policy_predict, _predict_policy),
    "nlu train": (TRAIN, _add_nlu_train, _train_nlu),
    "nlu predict": (
        "write the NLU track of a predictions file",
        lambda parser: _add_predict(parser, "the folder of a trained NLU"),
        _predict_nlu,
    ),
    "nlg train": (TRAIN, lambda p: _add_training(p, "generators", SclstmSettings()), _train_nlg),
    "nlg generate": ("write the NLG track of a predictions file", _add_generate, _generate),
    "dst train": (TRAIN, _add_dst_train, _train_dst),
    "dst predict": (
        "write the DST track of a predictions file",
        lambda parser: _add_predict(parser, "file or folder of a trained tracker"),
        _predict_dst,
    ),
    "baseline": ("write predictions of a rule system or of gold", _add_baseline, _baseline),
    "mine-templates": ("template files from a corpus", _add_mine, _mine),
}
"""Action → what it does, how its arguments are added, and how it is run."""
