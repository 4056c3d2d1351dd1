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
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from io import TextIOWrapper
from pathlib import PurePath
from random import SystemRandom
from typing import Any

from mwzeval.arguments import InputFile, add_data, add_files, add_format, file_of, files_of
from mwzeval.errors import UsageError, shorten
from mwzeval.output import notify, warnings_behind, write_output, write_result
from mwzeval.pydial.tasks import GOODBYES, MOST_SEEDS, USERS

LONGEST_NUMBER = 100
"""Maximum number of digits in a number. Python cannot convert numbers with many more digits."""
POLICIES = "handcrafted, random, gp-sarsa, dqn, a2c, enac, dqn-modern, a2c-modern, ppo"
PLAN = (
    *("tasks", "policies", "dialogues", "seeds", "tests", "legacy", "goodbye"),
    *("data", "ontology", "entities", "compiled"),
)
"""The names of the arguments of `run.planned`."""
SEEDS = 2**20
"""`play` draws its seed below this number."""
FORMER = {
    "cross": "now `pydial retest`",
    "sweep": "now `pydial retest --errors 0,10,20,30,40,50`",
    "cross-users": "now `pydial retest --users`",
    "transfer": "now `pydial retest --in`",
    "estimate": "removed: use scikit-learn to calibrate and score estimates (sklearn.calibration, "
    "brier_score_loss)",
}
"""Former names of actions and their replacements."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the subcommands of `mwzeval pydial`, such as `run`, to the parser."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, (summary, description, add, do) in ACTIONS.items():
        action = actions.add_parser(name, help=summary, description=description)
        add(action)
        action.set_defaults(do=do)
    for name in FORMER:
        actions.add_parser(name, add_help=False).add_argument("rest", nargs=argparse.REMAINDER)


def run(arguments: Namespace) -> int:
    """Run a subcommand of `mwzeval pydial`; return the exit code.

    Raises `UsageError` for a former name.
    """
    if arguments.action in FORMER:
        raise UsageError(f"`pydial {arguments.action}` is {FORMER[arguments.action]}")
    arguments.do(arguments)
    return 0


def listed(kind: Callable[[str], Any], expected: str) -> Callable[[str], tuple[Any, ...]]:
    """Return a function for argparse's `type` that parses a comma-separated list."""

    def parsed(text: str) -> tuple[Any, ...]:
        try:
            return tuple(map(kind, text.split(",")))
        except ValueError:
            raise ArgumentTypeError(f'expected {expected}, not "{text}"') from None

    return parsed


_names = listed(str, "names separated by commas")
_numbers = listed(int, "numbers separated by commas, such as 1000,4000")
_rates = listed(lambda part: float(part) / 100, "percentages separated by commas, such as 0,15,30")


def add_domain(parser: ArgumentParser) -> None:
    """Add the arguments for the files of published and custom domains."""
    add_data(parser)
    own = "ontology of your own domain; its tasks are Own-NAME-1 to Own-NAME-6"
    parser.add_argument(
        "--ontology", type=InputFile, metavar="FILE", help=f"NAME.json or NAME-rules.json, {own}"
    )
    parser.add_argument(
        "--entities",
        type=InputFile,
        metavar="FILE",
        help="entities of your own domain, as JSON or SQLite",
    )


def seeds_named(text: str) -> int | tuple[int, ...]:
    """Parse a number of seeds (10), or ranges and single seeds separated by commas (101-110,7).

    Raises `ArgumentTypeError` if the text has another form.
    """
    if text.isdecimal() and len(text) <= LONGEST_NUMBER:
        return int(text)
    seeds: list[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        numbered = first.isdecimal() and (last.isdecimal() or not dash)
        if not numbered or max(len(first), len(last)) > LONGEST_NUMBER:
            raise ArgumentTypeError(
                "expected a number of seeds or a list of seeds, such as 10, 101-110 or 3,7, not "
                f"{shorten(repr(text))}"
            )
        start, stop = int(first), int(last or first)
        if not start <= stop < start + MOST_SEEDS:
            raise ArgumentTypeError(f"{part} is not a range of 1 to {MOST_SEEDS} seeds")
        seeds += range(start, stop + 1)
    return tuple(dict.fromkeys(seeds))


def plan_of(arguments: Namespace) -> dict[str, Any]:
    """Return the arguments of a command that are given, as arguments of `run.planned`."""
    given = {key: getattr(arguments, key, None) for key in PLAN}
    return {key: value for key, value in given.items() if value is not None}


def _add_play(parser: ArgumentParser) -> None:
    parser.add_argument("task", metavar="TASK", help="CR-1 to LAP-6, or Demo-CR-1 to Demo-LAP-6")
    parser.add_argument(
        "--policy",
        type=InputFile,
        default="handcrafted",
        metavar="NAME",
        help="policy: handcrafted (default), random, or the checkpoint file of a trained policy",
    )
    parser.add_argument(
        "--beliefs", action="store_true", help="show the recognized acts and the belief state"
    )
    parser.add_argument(
        "--seed", type=int, metavar="N", help="seed (default: a random one, which is printed)"
    )
    parser.add_argument(
        "--legacy", action="store_true", help="reproduce the errors of the original code"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE.jsonl",
        help="episode file to which the dialogue is appended",
    )
    add_domain(parser)


def _play(arguments: Namespace) -> None:
    from mwzeval.pydial.domain import OwnFiles, load_domain
    from mwzeval.pydial.episode_files import added_to, episodes_in
    from mwzeval.pydial.episodes import check_seeds
    from mwzeval.pydial.play import adapter_for, play_with_human
    from mwzeval.pydial.tasks import task_named

    task = task_named(arguments.task)
    seed = SystemRandom().randrange(SEEDS) if arguments.seed is None else arguments.seed
    check_seeds(seed)
    before = () if arguments.output is None else episodes_in(arguments.output)
    index = sum((played.task, played.seed) == (task.name, seed) for played in before)
    own = OwnFiles.given(arguments.ontology, arguments.entities)
    domain = load_domain(task.domain, arguments.data, own=own)
    system = adapter_for(
        arguments.policy, domain, task, legacy=arguments.legacy, confusion_seed=seed
    )
    if isinstance(sys.stdin, TextIOWrapper):
        sys.stdin.reconfigure(errors="backslashreplace")  # undecodable input is invalid, too
    dialogue = play_with_human(
        system,
        seed,
        sys.stdin,
        sys.stdout,
        index=index,
        beliefs=arguments.beliefs,
        about={"policy": str(arguments.policy), "legacy": arguments.legacy},
    )
    if dialogue is not None and arguments.output is not None:
        added_to(arguments.output, dialogue)
        notify(f"wrote {arguments.output}")


def _add_run(parser: ArgumentParser) -> None:
    parser.set_defaults(
        interrupted="repeat the same command to resume; finished jobs are skipped",
        writes_folder=True,
    )
    parser.add_argument(
        "--tasks",
        type=_names,
        default="all",
        metavar="NAMES",
        help="tasks: CR-1,SFR-3,…, Demo-CR-1,… (these need no data), or all (default): the "
        "18 tasks of the paper, or with --ontology the 6 tasks of that domain",
    )
    parser.add_argument(
        "--policies",
        type=_names,
        default="all",
        metavar="NAMES",
        help=f"policies: some of {POLICIES}, separated by commas, or all (default)",
    )
    parser.add_argument(
        "--dialogues",
        type=_numbers,
        default=(1000, 4000, 10_000),
        metavar="N,…",
        help="test policies after these numbers of training dialogues (default: 1000,4000,10000)",
    )
    parser.add_argument(
        "--seeds",
        type=seeds_named,
        default=10,
        metavar="SEEDS",
        help="number of seeds (counted from 0), or a list of seeds: 101-110 or 3,7,101-110 "
        "(default: %(default)s)",
    )
    parser.add_argument(
        "--tests",
        type=int,
        default=500,
        metavar="N",
        help="number of dialogues in each test (default: %(default)s)",
    )
    parser.add_argument(
        "--legacy", action="store_true", help="reproduce the errors of the original code"
    )
    parser.add_argument(
        "--goodbye",
        choices=GOODBYES,
        help="who may end dialogues in environments 2 and 4, which have no action masks "
        "(default: policy with --legacy, else user)",
    )
    add_domain(parser)
    parser.add_argument(
        "-o", "--output", required=True, metavar="DIR", help="the folder of the run"
    )
    parser.add_argument(
        "--processes",
        type=int,
        metavar="N",
        help="number of worker processes (default: one per core; 0: run in this process); "
        "does not change results",
    )
    parser.add_argument(
        "--dask",
        metavar="ADDRESS",
        help="run on a Dask cluster: the address of its scheduler, or local",
    )
    parser.add_argument(
        "--compiled",
        action="store_true",
        help="let numba compile the simulation for neural policies: compilation takes about a "
        "minute, once, and halves the time of a job; results do not change",
    )
    parser.add_argument(
        "--log",
        metavar="FILE.csv",
        help="append the progress of training to a CSV file",
    )
    parser.add_argument(
        "--log-every",
        type=int,
        default=100,
        metavar="N",
        help="average over N training dialogues (default: %(default)s)",
    )


def _run(arguments: Namespace) -> None:
    from mwzeval.cluster import cluster
    from mwzeval.pydial.run import run as run_benchmark

    how = {key: getattr(arguments, key) for key in ("output", "log", "log_every")}
    with ExitStack() as stack:
        if arguments.dask:
            how["client"] = stack.enter_context(cluster(arguments.dask, arguments.processes))
        else:
            how["processes"] = arguments.processes
        jobs = run_benchmark(**plan_of(arguments), **how, progress=True)
    policies = "1 policy" if len(jobs) == 1 else f"{len(jobs)} policies"
    notify(f"wrote {arguments.output}: {policies} trained and tested")


def _add_table(parser: ArgumentParser) -> None:
    add_files(
        parser,
        "the folder of a run; several runs are shown side by side, and the headings name the "
        "settings in which they differ",
        "DIR",
    )
    parser.add_argument(
        "--dialogues",
        type=_numbers,
        metavar="N,…",
        help="only tests after N training dialogues (default: all)",
    )
    parser.add_argument(
        "--seeds",
        type=seeds_named,
        action="append",
        metavar="SEEDS",
        help="only these seeds, such as 101-110; repeat the option to compare sets of seeds "
        "side by side",
    )
    add_format(parser)


def _table(arguments: Namespace) -> None:
    from mwzeval.pydial.results import read_results
    from mwzeval.pydial.tables import side_by_side, table_document
    from mwzeval.scores.findings import Findings
    from mwzeval.scores.sheets import printed

    findings = Findings()
    runs = [
        read_results(folder, findings, seeds=chosen)
        for folder in files_of(arguments)
        for chosen in arguments.seeds or [None]
    ]
    document = (
        table_document(runs[0], arguments.dialogues)
        if len(runs) == 1
        else side_by_side(runs, arguments.dialogues)
    )
    with warnings_behind(findings.warnings, can_be_validated=False):
        write_result(printed(document, arguments.format), arguments.format)


def _add_plot(parser: ArgumentParser) -> None:
    add_files(parser, "the folder of a run", "DIR", several=False)
    parser.add_argument("--figure", choices=("success", "reward"), default="success")
    parser.add_argument(
        "--panels",
        choices=("tasks", "means"),
        default="tasks",
        help="one panel for each task (default), or one for the mean of each domain and one for "
        "the mean of all tasks",
    )
    parser.add_argument(
        "--band",
        choices=("interval", "range"),
        default="interval",
        help="bands: the 95 %% interval over seeds (default), or the range from the lowest "
        "to the highest seed",
    )
    parser.add_argument(
        "--aggregate",
        choices=("mean", "iqm"),
        default="mean",
        help="average over tasks and seeds: mean (default) or, with --panels means, "
        "interquartile mean",
    )
    parser.add_argument(
        "-o", "--output", required=True, metavar="FILE", help="output file: .png, .svg or .pdf"
    )


def _plot(arguments: Namespace) -> None:
    from mwzeval.pydial.curves import plot_curves
    from mwzeval.scores.findings import Findings

    findings = Findings()
    picture = plot_curves(
        file_of(arguments),
        figure=arguments.figure,
        panels=arguments.panels,
        band=arguments.band,
        aggregate=arguments.aggregate,
        format_name=PurePath(arguments.output).suffix.removeprefix(".") or "png",
        findings=findings,
    )
    with warnings_behind(findings.warnings, can_be_validated=False):
        write_output(arguments.output, picture)


def _add_retest(parser: ArgumentParser) -> None:
    from mwzeval.conversation.models import add_model_options, add_request_options
    from mwzeval.conversation.pool import add_pool_options

    parser.set_defaults(
        interrupted="repeat the same command to resume after the last finished test"
    )
    add_files(parser, "the folder of a run", "DIR", several=False)
    for option in ("--tasks", "--policies"):
        parser.add_argument(option, type=_names, metavar="NAMES", help="default: as in the run")
    parser.add_argument(
        "--dialogues",
        type=_numbers,
        metavar="N,…",
        help="numbers of training dialogues; the policies after the largest number are tested "
        "(default: as in the run)",
    )
    parser.add_argument(
        "--seeds", type=seeds_named, metavar="SEEDS", help="as for `run` (default: as in the run)"
    )
    parser.add_argument("--tests", type=int, metavar="N", help="default: as in the run")
    add_domain(parser)
    conditions = parser.add_argument_group("conditions")
    conditions.add_argument(
        "--in",
        dest="tested_in",
        type=_names,
        metavar="NAMES",
        help="tasks of the domain in which policies are tested (default without other "
        "conditions: environments 1, 3 and 6)",
    )
    conditions.add_argument(
        "--errors",
        type=_rates,
        default=(),
        metavar="PERCENT,…",
        help="semantic error rates in %%, such as 0,15,30 (default: as in training)",
    )
    conditions.add_argument(
        "--users",
        type=_names,
        default=[],
        metavar="NAMES",
        help=f"some of {', '.join(USERS)}, or all; agenda, openai:MODEL, package.module:Name "
        "or file.py:Name (default: as in training)",
    )
    conditions.add_argument(
        "--user-parameters",
        type=InputFile,
        action="append",
        default=[],
        metavar="FILE",
        help="JSON file with your own parameters of the simulated user (ranges and patience), to "
        "test with as well",
    )
    parser.add_argument("--figure", choices=("success", "reward"), default="success")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="output file for the plot of the scores by error rate: .png, .svg or .pdf",
    )
    add_pool_options(parser)
    add_model_options(parser, "user", named_by="--users")
    add_request_options(parser)
    add_format(parser)


def _retest(arguments: Namespace) -> None:
    from mwzeval.conversation.models import model_options
    from mwzeval.conversation.pool import TimeLimits
    from mwzeval.pydial.curves import plot_retests
    from mwzeval.pydial.retest import LiveUsers, plan_of_run, retest
    from mwzeval.pydial.run import TESTS, planned
    from mwzeval.pydial.tables import retest_document
    from mwzeval.pydial.user_parameters import read_user
    from mwzeval.report.figures import check_format
    from mwzeval.scores.sheets import printed

    picture = arguments.output
    kind = PurePath(picture or "a.png").suffix.removeprefix(".") or "png"
    if picture is not None:
        check_format(kind)
    plan = plan_of_run(file_of(arguments)) | plan_of(arguments)
    live = LiveUsers(
        model_options(arguments, "user"),
        TimeLimits(arguments.turn_seconds, arguments.dialogue_seconds),
        arguments.jobs,
        arguments.concurrency,
    )
    retests = retest(
        file_of(arguments),
        planned(**plan),
        tested_in=arguments.tested_in,
        errors=arguments.errors,
        users=[user for name in arguments.users for user in (USERS if name == "all" else (name,))],
        own=dict(map(read_user, arguments.user_parameters)),
        tests=plan.get("tests", TESTS),
        live=live,
    )
    document = retest_document(retests)
    write_result(printed(document, arguments.format), arguments.format)
    if picture is not None:
        content = plot_retests(document.records, figure=arguments.figure, format_name=kind)
        write_output(picture, content)


def _add_record(parser: ArgumentParser) -> None:
    parser.set_defaults(writes_folder=True)
    parser.add_argument("tasks", nargs="+", metavar="TASK", help="CR-1 to LAP-6, Demo-CR-1, …")
    parser.add_argument(
        "--policy",
        type=InputFile,
        default="mixed",
        metavar="NAME",
        help="policy: random, handcrafted, mixed (default: random and handcrafted in alternate "
        "dialogues), or "
        "the checkpoint file of a trained policy",
    )
    parser.add_argument(
        "--dialogues", type=int, default=1000, metavar="N", help="default: %(default)s"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="random seed (default: 0)")
    parser.add_argument(
        "-o", "--output", required=True, metavar="DIR", help="folder for the data sets"
    )
    add_domain(parser)


def _record(arguments: Namespace) -> None:
    from mwzeval.pydial.domain import OwnFiles, load_domain
    from mwzeval.pydial.episodes import check_seeds
    from mwzeval.pydial.recording import behaviour_named, check_new, write_dataset
    from mwzeval.pydial.tasks import task_named

    seed, own = arguments.seed, OwnFiles.given(arguments.ontology, arguments.entities)
    check_seeds(seed)
    tasks = [task_named(name) for name in dict.fromkeys(arguments.tasks)]
    behaviours = [
        behaviour_named(
            arguments.policy,
            load_domain(task.domain, arguments.data, own=own),
            task,
            confusion_seed=seed,
        )
        for task in tasks
    ]
    check_new(arguments.output, behaviours)
    for behaviour in behaviours:
        folder = write_dataset(arguments.output, behaviour, seed, arguments.dialogues)
        notify(f"wrote {folder}: {arguments.dialogues} dialogues")


ACTIONS: Mapping[str, tuple[str, str, Callable[[ArgumentParser], None], Callable[..., None]]] = {
    "play": (
        "talk to a policy as the user in a task",
        "Be the user in a task and talk to a policy: type acts, or choose from a menu.",
        _add_play,
        _play,
    ),
    "run": (
        "train and test policies",
        "Train every policy in every task with every seed, and test it at checkpoints. Repeat the "
        "command to resume: finished jobs are skipped.",
        _add_run,
        _run,
    ),
    "table": (
        "print the paper's tables next to the tables of a run",
        "Print success and reward of a run next to the paper's Tables 4, 6 and 7; with several "
        "runs, show each policy's results side by side.",
        _add_table,
        _table,
    ),
    "plot": (
        "draw learning curves with bands",
        "Draw learning curves: lines show training, points show tests, and the dashed line shows "
        "the handcrafted policy.",
        _add_plot,
        _plot,
    ),
    "retest": (
        "test trained policies under other conditions",
        "Test the policies of a run in other environments (by default 1, 3 and 6: Table 8 of the "
        "paper), at other error rates, and with other users. Tests are saved in the run's folder "
        "and not repeated. If you change the code of a user, remove the tests of this user in "
        "DIR/users.",
        _add_retest,
        _retest,
    ),
    "record": (
        "write dialogues of a policy as a data set",
        "Write the dialogues of a policy with the simulated user as a data set in Minari's format, "
        "DIR/POLICY/TASK-v0, for learning without an environment.",
        _add_record,
        _record,
    ),
}
"""The summary, the description and the functions of each action."""
