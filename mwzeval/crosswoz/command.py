"""CrossWOZ beyond scoring: its statistics, its rule systems and those that are trained.

statistics      print a fold and its database beside tables 1, 3, 6 and 7 of the paper
simulate        let a user simulator talk to a system, and count how many dialogues finish
policy          train the paper's policy, or let it speak on a fold
nlu             train a tagger or fine-tune a BERT, or let one read a fold
dst             train TRADE, which tracks states by words, or let it track a fold
nlg             train SC-LSTM, or let it say the acts of a fold
baseline        write predictions of RuleDST, of the user simulator, of templates, or of gold
mine-templates  make template files in the public format from a corpus

Scoring is `mwzeval evaluate --benchmark crosswoz`; validate, compare, explain, report likewise.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from mwzeval.arguments import InputFile
from mwzeval.crosswoz import META, command_dst, command_nlu, command_simulate
from mwzeval.crosswoz.command_models import note_training, origin_of
from mwzeval.crosswoz.command_options import (
    add_fold,
    add_training,
    fold_of,
    given_settings,
    header,
    root_of,
    training_and_validation,
    write,
)
from mwzeval.crosswoz.sclstm.training import SclstmSettings, train_sclstm
from mwzeval.crosswoz.systems.sl_training import Settings, train_policy
from mwzeval.errors import UsageError, printable
from mwzeval.output import write_result

if TYPE_CHECKING:
    from mwzeval.crosswoz.simulation.protocols import Side
    from mwzeval.neural.training import Point

BASELINES = (
    *("rule-dst", "rule-dst-full", "simulator", "template"),
    *("gold-nlu", "gold-dst", "gold-policy", "gold-nlg"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    statistics = actions.add_parser("statistics", help="count a fold and its database")
    add_fold(statistics)
    statistics.add_argument("--json", action="store_true", help="as JSON, unrounded")
    command_simulate.add_arguments(
        actions.add_parser("simulate", help="a user simulator talks to a system")
    )
    _add_policy(actions.add_parser("policy", help="the paper's policy"))
    command_nlu.add_arguments(actions.add_parser("nlu", help="train or use an NLU"))
    _add_nlg(actions.add_parser("nlg", help="train or use SC-LSTM"))
    command_dst.add_arguments(actions.add_parser("dst", help="train or use TRADE"))
    baseline = actions.add_parser("baseline", help="write predictions of a rule system or of gold")
    baseline.add_argument("system", choices=BASELINES)
    add_fold(baseline)
    baseline.add_argument(
        "--seed", type=int, default=0, help="of simulator and template (default: %(default)s)"
    )
    command_simulate.add_templates(baseline, "template")
    baseline.add_argument("-o", "--output", required=True, metavar="FILE.json")
    mine = actions.add_parser("mine-templates", help="template files from a corpus")
    add_fold(mine, "train")
    mine.add_argument("-o", "--output", required=True, metavar="DIR", help="of the files")
    mine.set_defaults(writes_folder=True)


def _add_policy(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="policy_action", metavar="ACTION", required=True)
    add_training(actions, "policy", Settings())
    predict = actions.add_parser("predict", help="write what a policy says")
    predict.add_argument(
        "model", type=InputFile, metavar="MODEL", help="file or folder of a trained policy"
    )
    predict.add_argument("-o", "--output", required=True, metavar="FILE.json")
    add_fold(predict)
    predict.add_argument(
        "--paper-compatible",
        action="store_true",
        help="with the paper's defect: every turn from the third on is taken for the last one",
    )


def _add_nlg(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="nlg_action", metavar="ACTION", required=True)
    add_training(actions, "generators", SclstmSettings())
    generate = actions.add_parser("generate", help="write the NLG track of a predictions file")
    generate.add_argument(
        "model", type=InputFile, metavar="MODEL", help="the folder of trained generators"
    )
    add_fold(generate)
    generate.add_argument(
        "--beam", type=int, default=10, metavar="N", help="width; 1: greedy (default: %(default)s)"
    )
    generate.add_argument("-o", "--output", required=True, metavar="FILE.json")


def run(arguments: argparse.Namespace) -> int:
    """Do it; return 0."""
    actions = {
        "statistics": _statistics,
        "simulate": command_simulate.run,
        "policy": _policy,
        "nlu": command_nlu.run,
        "nlg": _nlg,
        "dst": command_dst.run,
        "baseline": _baseline,
        "mine-templates": _mine,
    }
    return actions[arguments.action](arguments)


def _statistics(arguments: argparse.Namespace) -> int:
    from mwzeval.crosswoz.corpus.statistics_table import fold_statistics, statistics_document
    from mwzeval.scores.sheets import printed

    format_name = "json" if arguments.json else "text"
    counted = statistics_document(fold_statistics(fold_of(arguments)))
    write_result(printed(counted, format_name), format_name)
    return 0


def _policy(arguments: argparse.Namespace) -> int:
    {"train": _train_policy, "predict": _predict_policy}[arguments.policy_action](arguments)
    return 0


def _train_policy(arguments: argparse.Namespace) -> None:
    from mwzeval.crosswoz.corpus.database import Database
    from mwzeval.crosswoz.systems.policy_vector import load_vocabulary

    fold = fold_of(arguments)
    training, validation = training_and_validation(arguments, fold)
    print("epoch  training  validation (cross-entropy)")
    train_policy(
        training,
        validation,
        Database(fold.tables),
        load_vocabulary(root_of(arguments)),
        arguments.output,
        Settings(**given_settings(arguments)),
        watch=_show_policy,
    )
    note_training(arguments)


def _show_policy(point: Point) -> None:
    losses = f"{point.loss:.6f}  {point.scores['validation_loss']:.6f}"
    print(f"{point.epoch - 1:5}  {losses}", flush=True)


def _predict_policy(arguments: argparse.Namespace) -> None:
    from mwzeval.crosswoz.corpus.database import Database
    from mwzeval.crosswoz.systems.sl_policy import SlPolicy, predicted_acts

    policy = SlPolicy.load(arguments.model)
    fold, compatible = fold_of(arguments), arguments.paper_compatible
    database = Database(fold.tables)
    about = header(arguments, "policy", "SL policy", arguments.model)
    plain: dict[str, Any] = {META: {**about, "paper_compatible": compatible}}
    for name, dialogue in fold.dialogues.items():
        said = predicted_acts(policy, dialogue, database, paper_compatible=compatible)
        plain[name] = [{"turn": turn, "system_acts": acts} for turn, acts in enumerate(said)]
    write(arguments, plain, f": {len(fold.dialogues)} dialogues")


def _nlg(arguments: argparse.Namespace) -> int:
    if arguments.nlg_action == "generate":
        return _generate(arguments)
    settings = SclstmSettings(**given_settings(arguments))
    training, validation = training_and_validation(arguments, fold_of(arguments))
    print("side    epoch  training  validation (nats a token)")
    train_sclstm(training, validation, arguments.output, settings, _show_nlg)
    note_training(arguments)
    return 0


def _show_nlg(side: Side, point: Point) -> None:
    losses = f"{point.loss:8.4f}  {point.scores['validation_loss']:8.4f}"
    print(f"{side:6}  {point.epoch:5}  {losses}", flush=True)


def _generate(arguments: argparse.Namespace) -> int:
    from mwzeval.crosswoz.sclstm.generator import load_sclstm
    from mwzeval.crosswoz.scoring.baselines import spoken_file

    if arguments.beam < 1:
        raise UsageError("--beam is 1 or more")
    nlg = load_sclstm(arguments.model, arguments.beam)
    plain = spoken_file(
        fold_of(arguments),
        nlg,
        f"SC-LSTM {arguments.model}",
        nlg.sides["user"].seed,
        beam=arguments.beam,
    )
    plain[META] |= origin_of(arguments.model)
    write(arguments, plain)
    return 0


def _baseline(arguments: argparse.Namespace) -> int:
    from mwzeval.crosswoz.predictions.tracks import GOLD_ACTS, GOLD_PREVIOUS_STATE, NLG, TRACKS
    from mwzeval.crosswoz.scoring.baselines import (
        gold_file,
        rule_tracker_file,
        simulator_file,
        spoken_file,
    )
    from mwzeval.crosswoz.systems.templates import TemplateNlg, load_templates

    fold, name = fold_of(arguments), arguments.system
    if name != "template" and (arguments.templates or arguments.template_mode):
        raise UsageError("templates are for the baseline template")
    if name == "template":
        mode: Any = arguments.template_mode or "auto_manual"
        nlg = TemplateNlg(load_templates(arguments.templates), mode)
        write(arguments, spoken_file(fold, nlg, f"templates, {mode}", arguments.seed))
    elif name.startswith("rule-dst"):
        conditioning = GOLD_PREVIOUS_STATE if name == "rule-dst" else GOLD_ACTS
        write(arguments, rule_tracker_file(fold, conditioning))
    elif name == "simulator":
        write(arguments, simulator_file(fold, arguments.seed))
    else:
        track = TRACKS[name.removeprefix("gold-")]
        conditioned = {"conditioning": GOLD_PREVIOUS_STATE} if track.name == "dst" else {}
        # A policy's acts have values or none, words are of one side or of both.
        some = track.any_of if track is NLG else track.any_of[:1]
        fields = (*track.required, *some, *track.optional)
        write(arguments, gold_file(fold, track.name, fields, **conditioned))
    return 0


def _mine(arguments: argparse.Namespace) -> int:
    from mwzeval.crosswoz.systems.templates import mine_templates, write_templates

    mined = mine_templates(fold_of(arguments).dialogues.values())
    for path in write_templates(arguments.output, "auto", mined):
        write_result(printable(f"{path}\n", keep="\n"), "text")
    return 0
