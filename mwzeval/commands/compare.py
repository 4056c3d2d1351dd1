"""Compare systems with the first one: differences, intervals, p values and ranks.

Only dialogues that all systems have are compared. E.g.
  mwzeval compare baseline.json ours.json --bleu --success
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, TypeAlias

from mwzeval.commands.arguments import (
    add_dst_rules,
    add_format,
    add_reading,
    add_resampling,
    reading,
)
from mwzeval.errors import InputError, MwzevalError, Problem, UsageError
from mwzeval.output import write_result
from mwzeval.processes import pool, processors

if TYPE_CHECKING:
    from mwzeval.evaluator import Evaluator
    from mwzeval.measure import Scored

    _ScoredFile: TypeAlias = tuple[Scored, tuple[Problem, ...]]

ENDINGS = (".gz", ".zst", ".jsonl", ".json")
METRICS = (
    ("-b", "bleu", "BLEU, and with Inform and Success the combined score"),
    ("-s", "success", "Inform and Success rates"),
    ("-r", "richness", "lexical richness"),
    ("-d", "dst", "dialogue state tracking"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument(
        "systems",
        nargs="+",
        metavar="PREDICTIONS",
        help="two or more predictions files, the baseline first",
    )
    metrics = parser.add_argument_group("metrics", "default: all that every system allows")
    for short, name, what in METRICS:
        metrics.add_argument(short, f"--{name}", action="store_true", help=what)
    add_dst_rules(metrics)
    metrics.add_argument(
        "-g",
        "--grounded",
        action="store_true",
        help="words held against the database, and bookings; only when asked for",
    )
    parser.add_argument(
        "--scopes", action="store_true", help="also compare Inform and Success of each domain"
    )
    add_level(parser)
    add_resampling(parser)
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="where the result goes (default: standard output)"
    )
    parser.add_argument(
        "-j",
        "--jobs",
        type=_positive,
        metavar="N",
        help="processes (default: one per processor); the result does not depend on it",
    )
    add_reading(parser)
    parser.add_argument(
        "--references",
        metavar="NAMES",
        help="reference sets for BLEU, with commas between (default: all that there are)",
    )
    add_format(parser)


def add_level(parser: argparse.ArgumentParser) -> None:
    """Add `--alpha`, the level of significance."""
    parser.add_argument(
        "--alpha",
        type=_level,
        default=0.05,
        metavar="P",
        help="corrected p values up to this are significant, and intervals have a confidence of "
        "1 - P (default: %(default)s)",
    )


def _level(text: str) -> float:
    value = float(text)
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"a level is between 0 and 1, such as 0.05, not {text}")
    return value


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"at least 1, not {text}")
    return value


def run(arguments: argparse.Namespace) -> int:
    """Score all systems, compare, and print or write the result."""
    if len(arguments.systems) < 2:
        arguments.parser.error("give at least two predictions files, the baseline first")
    from mwzeval.comparison import compare
    from mwzeval.evaluator import Evaluator
    from mwzeval.files import write_atomically
    from mwzeval.measure import Resampling
    from mwzeval.report.comparison import comparison_document
    from mwzeval.report.formats import render

    resampling = Resampling(round(1 - arguments.alpha, 9), arguments.samples, arguments.seed)
    asked = [getattr(arguments, name) for _, name, _ in METRICS]
    is_asked = any(asked) or arguments.dst_rule or arguments.grounded
    evaluator = Evaluator(
        *(asked if is_asked else [True] * len(asked)),
        grounded=arguments.grounded,
        dst_rules=arguments.dst_rule,
        **reading(arguments),
        references=arguments.references,
    )
    with _workers(evaluator, arguments.jobs) as executor:
        systems, warnings = _score(evaluator, arguments.systems, executor)
        if arguments.dst or arguments.dst_rule:
            _check_states(systems)
        comparison = compare(
            systems,
            resampling=resampling,
            level=arguments.alpha,
            scopes=arguments.scopes,
            executor=executor,
        )
    sys.stderr.write(warnings)
    document = comparison_document(comparison, places=arguments.places)
    text = render(document, arguments.format)
    if arguments.output in (None, "-"):
        write_result(text, arguments.format)
    else:
        write_atomically(arguments.output, text)
    return 0


def _score(
    evaluator: Evaluator, files: Sequence[str], executor: Executor | None
) -> tuple[dict[str, Scored], str]:
    """Return what was scored of each file, by the system's name, and all warnings.

    Raises `InputError` with the problems of all files.
    """
    from mwzeval.multiwoz.predictions import read_predictions
    from mwzeval.report.text import warnings_text

    problems: list[Problem] = []
    running = []
    for file in files:
        with _collecting(problems):
            # Read here, because another process has another standard input.
            running.append(_submit(executor, evaluator, read_predictions(file), file))
    systems, text = [], ""
    for future in running:
        with _collecting(problems):
            scored, warnings = future.result()
            systems.append(scored)
            # Without states, tracking is not compared, and the result says so.
            shown = [warning for warning in warnings if warning.kind != "no-states"]
            text += warnings_text(shown)
    if problems:
        raise InputError(problems)
    return dict(zip(system_names(files), systems, strict=True)), text


@contextmanager
def _collecting(problems: list[Problem]) -> Iterator[None]:
    try:
        yield
    except InputError as error:
        problems += error.problems


def _submit(
    executor: Executor | None, evaluator: Evaluator, predictions: Any, file: str
) -> Future[_ScoredFile]:
    if executor is not None:
        return executor.submit(_score_in_worker, predictions, file)
    done: Future[_ScoredFile] = Future()
    done.set_result(_score_file(evaluator, predictions, file))
    return done


def _score_file(evaluator: Evaluator, predictions: Any, file: str) -> _ScoredFile:
    evaluated = evaluator.score(predictions, file=file)
    scored = evaluated.scored
    if scored.type_measures:
        scored = replace(scored, count_types=partial(_same, scored.count_types()))
    return scored, evaluated.checked.warnings


def _same(value: Any) -> Any:
    return value


_of_worker: list[Evaluator] = []
"""The evaluator of a worker process, which prepares its gold data once."""


def _start_worker(evaluator: Evaluator) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process tells when to stop
    _of_worker.append(evaluator)


def _score_in_worker(predictions: Any, file: str) -> _ScoredFile:
    return _score_file(_of_worker[0], predictions, file)


def system_names(files: Sequence[str]) -> list[str]:
    """Return a name for each file: without folder and ending where that tells them apart."""
    short = []
    for file in files:
        name = PurePath(file).name
        for ending in ENDINGS:
            name = name.removesuffix(ending)
        short.append(name or file)
    chosen = short if len(set(short)) == len(short) else list(files)
    seen: dict[str, int] = {}
    names = []
    for name in chosen:
        seen[name] = seen.get(name, 0) + 1
        names.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return names


def _check_states(systems: dict[str, Scored]) -> None:
    without = [
        name
        for name, scored in systems.items()
        if not any(measure.name.startswith("dst.") for measure in scored.measures)
    ]
    if without:
        raise UsageError(
            f"state tracking needs a state in every turn; not so in {', '.join(without)}: leave "
            "these out, or leave out --dst"
        )


@contextmanager
def _workers(evaluator: Evaluator, jobs: int | None) -> Iterator[Executor | None]:
    """Yield processes to share the work; None when one is enough."""
    from concurrent.futures.process import BrokenProcessPool

    count = jobs or processors()
    if count == 1:
        yield None
        return
    try:
        with pool(count, initializer=_start_worker, initargs=(evaluator,)) as executor:
            yield executor
    except BrokenProcessPool:
        raise MwzevalError("a process was killed, maybe for lack of memory: try --jobs 1") from None
