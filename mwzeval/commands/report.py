"""Write one page about one or more systems: scores, reasons, dialogues side by side.

Each file is scored with every metric that it allows: all of them, but no state tracking without
predicted states, and nothing but state tracking without responses. The page is one file that needs
no network, to open in a browser.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from mwzeval.commands.arguments import add_reading, add_resampling, reading
from mwzeval.commands.outcome import STANDARD_OUTPUT
from mwzeval.errors import SHOWN_PROBLEMS, InputError, Problem, UsageError
from mwzeval.output import tell, write_result
from mwzeval.statistics import CONFIDENCE

if TYPE_CHECKING:
    from mwzeval.evaluator import Checked, Evaluator
    from mwzeval.report.model import Report

ENDINGS = (".gz", ".zst", ".jsonl", ".json")
STANDARD_INPUT = "-"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    add_files(parser)
    parser.add_argument(
        "-o",
        "--output",
        default="report.html",
        metavar="OUTPUT.html",
        help="where the page goes (default: %(default)s; - is standard output)",
    )
    parser.add_argument("--title", metavar="TEXT", help="title of the page (default: the systems)")
    add_resampling(parser)


def add_files(parser: argparse.ArgumentParser) -> None:
    """Add the predictions files of one or more systems."""
    parser.add_argument(
        "predictions",
        nargs="+",
        metavar="PREDICTIONS",
        help="predictions of a system: .json or .jsonl, also .gz or .zst; - reads JSON from "
        "standard input",
    )
    add_reading(parser)


def run(arguments: argparse.Namespace) -> int:
    """Score, explain and write the page."""
    from mwzeval.files import write_atomically
    from mwzeval.multiwoz.page import WORDS, page_system
    from mwzeval.report.html import to_html
    from mwzeval.report.page_model import title_of

    systems = [
        page_system(system.name, system.report(), system.checked.dialogues, system.checked.scorer)
        for system in read_systems(arguments)
    ]
    page = to_html(systems, title=arguments.title or title_of(systems), words=WORDS)
    if arguments.output in STANDARD_OUTPUT:
        write_result(page, "html")
        return 0
    write_atomically(arguments.output, page)
    size = len(page.encode(errors="backslashreplace")) / 1e6
    tell(f"wrote {arguments.output} ({size:.1f} MB)")
    return 0


@dataclass(frozen=True, slots=True, eq=False)
class System:
    """A system whose predictions can be scored, and what scores them."""

    name: str
    file: str
    predictions: Any
    checked: Checked
    evaluator: Evaluator

    def report(self) -> Report:
        """Return the scores, with intervals."""
        return self.evaluator.report(self.predictions, file=self.file, progress=True)


def read_systems(arguments: argparse.Namespace) -> list[System]:
    """Return the systems of all files, which are of one corpus; warnings go to standard error.

    Raises `InputError` with the problems of all files, `UsageError` for different corpora.
    """
    from mwzeval.report.text import warnings_text

    files: list[str] = arguments.predictions
    if files.count(STANDARD_INPUT) > 1:
        raise UsageError("standard input (-) can be read only once")
    evaluators = _Evaluators(arguments)
    systems: list[System] = []
    problems: list[Sequence[Problem]] = []
    for name, file in zip(names_of(files), files, strict=True):
        match evaluators.system(name, file):
            case System() as system:
                systems.append(system)
            case InputError() as error:
                problems.append(error.problems)
    if problems:
        raise InputError(_of_every_file_some(problems))
    corpora = {system.file: system.checked.scorer.gold.corpus for system in systems}
    if len(set(corpora.values())) > 1:
        of = ", ".join(f"{file} is of {corpus}" for file, corpus in corpora.items())
        raise UsageError(f"systems of different corpora do not compare: {of}")
    for system in systems:
        sys.stderr.write(warnings_text(system.checked.warnings))
    return systems


def _of_every_file_some(problems: Sequence[Sequence[Problem]]) -> Iterator[Problem]:
    """Yield all problems, so many of each file first that a message shows some of every file."""
    share = max(1, SHOWN_PROBLEMS // len(problems))
    for of_file in problems:
        yield from of_file[:share]
    for of_file in problems:
        yield from of_file[share:]


class _Evaluators:
    """Makes each evaluator once: one for all files that allow the same metrics."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self._arguments = arguments
        self._made: dict[tuple[bool, bool, bool], Evaluator] = {}

    def system(self, name: str, file: str) -> System | InputError:
        """Return the system of a file, or what prevents scoring it."""
        from mwzeval.multiwoz.formats.adaptation import adapt
        from mwzeval.multiwoz.predictions import Findings, read_predictions

        try:
            predictions = read_predictions(file)
            adapted = adapt(predictions, self._arguments.input_format, Findings())
            evaluator = self._for(*_what_is_predicted(adapted))
            checked = evaluator.checked(predictions, file=file)
        except InputError as error:
            return error
        return System(name, file, predictions, checked, evaluator)

    def _for(self, responses: bool, states: bool, words: bool) -> Evaluator:
        from mwzeval.evaluator import Evaluator

        if (responses, states, words) not in self._made:
            given = self._arguments
            self._made[responses, states, words] = Evaluator(
                bleu=responses,
                success=responses,
                richness=responses,
                dst=states,
                grounded=words,
                **reading(given),
                confidence=CONFIDENCE,
                samples=given.samples,
                seed=given.seed,
            )
        return self._made[responses, states, words]


def _what_is_predicted(predictions: Any) -> tuple[bool, bool, bool]:
    """Return whether there are responses, states, and responses in words.

    Responses when there is neither.
    """
    from mwzeval.multiwoz.wording import Wording

    keys: set[str] = set()
    wording = Wording()
    for turn in _turns(predictions):
        keys.update(turn)
        wording.add(str(turn.get("response", "")))
    states = "state" in keys
    responses = "response" in keys
    return responses or not states, states, responses and wording.lexicalized


def _turns(predictions: Any) -> Iterator[Mapping[str, Any]]:
    for turns in predictions.values() if isinstance(predictions, Mapping) else ():
        if isinstance(turns, list):
            yield from (turn for turn in turns if isinstance(turn, Mapping))


def names_of(files: Sequence[str]) -> list[str]:
    """Return a name for each file: its stem, with as much of its folders as tells it from others.

    A file that comes again has a number.
    """
    paths = [PurePath(_stem(file)) for file in files]
    longest = max(len(path.parts) for path in paths)
    names: list[str] = []
    for path in paths:
        for length in range(1, longest + 1):
            name = _end(path, length)
            if all(_end(other, length) != name for other in paths if other != path):
                break
        again = sum(name == known.partition(" #")[0] for known in names)
        names.append(f"{name} #{again + 1}" if again else name)
    return names


def _stem(file: str) -> str:
    if file == STANDARD_INPUT:
        return "standard input"
    if PurePath(file).name in ("", ".."):  # a folder, such as the current one
        return str(Path(file).resolve())
    for ending in ENDINGS:
        file = file.removesuffix(ending)
    return file


def _end(path: PurePath, length: int) -> str:
    return str(PurePath(*path.parts[-length:]))
