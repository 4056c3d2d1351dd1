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

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping

from mwzeval.crosswoz import model_command
from mwzeval.crosswoz.model_command import (
    Action,
    add_fold,
    add_output,
    named_fold,
    write_predictions,
)
from mwzeval.crosswoz.scoring.baselines import BASELINES, baseline_file
from mwzeval.crosswoz.speakers import add_conversation, add_templates, setting_of
from mwzeval.crosswoz.systems.templates import mine_templates, write_templates
from mwzeval.errors import UsageError, printable
from mwzeval.output import notify, write_result
from mwzeval.text import to_json


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this command."""
    places = {"": parser.add_subparsers(dest="action", metavar="ACTION", required=True)}
    for group, summary in model_command.GROUPS.items():
        part = places[""].add_parser(group, help=summary)
        places[group] = part.add_subparsers(dest="part", metavar="ACTION", required=True)
    for name, (summary, add, do) in {**ACTIONS, **model_command.ACTIONS}.items():
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


def _add_statistics(parser: ArgumentParser) -> None:
    add_fold(parser)
    parser.add_argument("--json", action="store_true", help="as JSON, unrounded")


def _statistics(arguments: Namespace) -> None:
    from mwzeval.crosswoz.corpus.statistics import fold_statistics, statistics_document
    from mwzeval.scores.sheets import printed

    format_name = "json" if arguments.json else "text"
    counted = statistics_document(fold_statistics(named_fold(arguments)))
    write_result(printed(counted, format_name), format_name)


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
    add_fold(parser)
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        help="seed of the simulator and of templates (default: %(default)s)",
    )
    add_templates(parser, "template")
    add_output(parser)


def _baseline(arguments: Namespace) -> None:
    given, mode = arguments.templates, arguments.template_mode
    if arguments.system != "template" and (given or mode):
        raise UsageError("--templates only applies to the baseline template")
    fold, seed = named_fold(arguments), arguments.seed
    plain = baseline_file(fold, arguments.system, seed, templates=given, mode=mode)
    write_predictions(arguments, plain)


def _add_mine(parser: ArgumentParser) -> None:
    add_fold(parser, "train")
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="folder for the files")
    parser.set_defaults(writes_folder=True)


def _mine(arguments: Namespace) -> None:
    mined = mine_templates(named_fold(arguments).dialogues.values())
    for path in write_templates(arguments.output, "auto", mined):
        write_result(printable(f"{path}\n", keep="\n"), "text")


ACTIONS: Mapping[str, Action] = {
    "statistics": ("print statistics of a fold and its database", _add_statistics, _statistics),
    "simulate": ("simulate dialogues between a user and a system", _add_simulate, _simulate),
    "baseline": (
        "write the predictions of a rule system, or the gold data as predictions",
        _add_baseline,
        _baseline,
    ),
    "mine-templates": ("extract template files from a corpus", _add_mine, _mine),
}
