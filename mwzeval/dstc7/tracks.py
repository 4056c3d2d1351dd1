"""The tracks (dataset and subtask): their names, file names, ids and options.

Ids are compared in a canonical form, which does not depend on their type and case in a file
(`example_id`, `candidate_id`). This module imports quickly, because the command line imports it at
startup.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, Literal, get_args

from mwzeval.errors import InputError, Problem, UsageError, shorten, unknown
from mwzeval.files.reading import STANDARD_INPUT, is_url, plain_name

Order = Literal["list", "confidence"]
ORDERS: tuple[Order, ...] = get_args(Order)
Metric = Literal["ranking", "fscore"]
METRICS: tuple[Metric, ...] = get_args(Metric)
COMPATIBLE = "2018"
COVERAGE = 0.9


@dataclass(frozen=True, slots=True)
class Options:
    """The options for checking and scoring submissions.

    `metric` is `ranking` (the official scores) or `fscore` (F1 of the choices that cover the share
    `coverage` of the probability, as in the task description). With `strict`, problems that usually
    cause a warning are errors. `order` selects the ranking order: the `list`, as in the official
    scorer, or the `confidence`. `compat="2018"` reproduces three errors of the organizers' script:
    Recall@100 counts any rank, MAP depends on the order of the targets, and repeats count.

    Raises `UsageError` for other values.
    """

    metric: Metric = "ranking"
    strict: bool = False
    order: Order = "list"
    compat: str | None = None
    coverage: float = COVERAGE

    def __post_init__(self) -> None:
        if self.metric not in METRICS:
            raise UsageError(unknown("metric", self.metric, METRICS))
        if self.order not in ORDERS:
            raise UsageError(unknown("order", self.order, ORDERS))
        if self.compat not in (None, COMPATIBLE):
            raise UsageError(
                f"compat must be {COMPATIBLE} or None, not {shorten(str(self.compat))}"
            )
        if self.compat and self.metric != "ranking":
            raise UsageError(
                "compat only applies to rankings: the scripts of 2018 did not compute the F-score"
            )
        if not 0 < self.coverage <= 1:
            raise UsageError(f"a coverage must be above 0 and at most 1, not {self.coverage}")


NONE = "NONE"
"""The id that means "none of the candidates is correct" (subtask 4)."""


def candidate_id(raw: Any) -> str | None:
    """Return the canonical form of a candidate's id; None if it is not a valid id.

    The canonical form is the decimal string of an integer (Advising), or the stripped text in upper
    case. Ubuntu's ids have 12 characters: the characters A–Z and 0–9 or, in later editions,
    lower-case hexadecimal digits.
    """
    if type(raw) is str:
        return raw.strip().upper() or None
    return _decimal(raw) if type(raw) is int else None


def example_id(raw: Any) -> str | None:
    """Return the canonical form of an example's id; None if it is not a valid id.

    The canonical form of a number (as a number or as text) is its decimal string; the canonical
    form of other text is the stripped text.
    """
    if type(raw) is str:
        text = raw.strip()
        if text.isascii() and text.isdigit():
            return text.lstrip("0") or "0"
        return text or None
    return _decimal(raw) if type(raw) is int else None


def _decimal(number: int) -> str | None:
    try:
        return str(number)
    except ValueError:  # more digits than Python can convert
        return None


def plain_id(identity: str) -> int | str:
    """Return an id as written in the files: a number if the id is numeric, otherwise text."""
    is_number = identity.isascii() and identity.isdigit() and len(identity) < 19
    return int(identity) if is_number and str(int(identity)) == identity else identity


Dataset = Literal["ubuntu", "advising"]
SUBTASKS: dict[Dataset, tuple[int, ...]] = {"ubuntu": (1, 2, 4, 5), "advising": (1, 3, 4, 5)}
"""Dataset → its subtasks."""
CASES = ("case1", "case2")
"""The test sets of Advising, scored separately."""
SPEAKERS: dict[Dataset, frozenset[str]] = {
    "ubuntu": frozenset({"participant_1", "participant_2"}),
    "advising": frozenset({"student", "advisor"}),
}
RANKED = 100
"""The number of candidates in a ranking: either the whole list or the best candidates of the
pool."""
CHOICES = 10
"""The number of choices for the metric of the task description."""
PREFIX = "dstc7"
TRACK_NAMES = tuple(f"{PREFIX}-{dataset}-{n}" for dataset in SUBTASKS for n in SUBTASKS[dataset])
_FILE = re.compile(r"(ubuntu|advising)_subtask_([0-9]+)(?:_(case[12]))?\.json", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Track:
    """A dataset and a subtask, and for Advising the test set (`case`) if it is known."""

    dataset: Dataset
    subtask: int
    case: str | None = None

    def __post_init__(self) -> None:
        if self.name not in TRACK_NAMES:
            known = ", ".join(TRACK_NAMES)
            message = f"{self.dataset} subtask {self.subtask} is not evaluated (known: {known})"
            raise UsageError(message)
        if self.case is not None and (self.dataset != "advising" or self.case not in CASES):
            allowed = "case1 and case2 of advising"
            raise UsageError(f'there is no test set "{shorten(self.case)}": there are {allowed}')

    @property
    def name(self) -> str:
        """The name of the track without the test set, such as `dstc7-ubuntu-1`."""
        return f"{PREFIX}-{self.dataset}-{self.subtask}"

    @property
    def file_name(self) -> str:
        """The official name of a submission."""
        case = "" if self.case is None else f"_{self.case}"
        return f"{self.dataset.capitalize()}_subtask_{self.subtask}{case}.json"

    @property
    def has_none(self) -> bool:
        """Whether NONE may be the correct answer in this track."""
        return self.subtask == 4

    @property
    def has_pool(self) -> bool:
        """Whether all examples share a pool of candidates, instead of a list for each example."""
        return self.subtask == 2

    @property
    def scenarios(self) -> tuple[int, ...]:
        """The subtasks that dialogue files may name: subtask 5 uses the files of subtask 1."""
        return (1, 5) if self.subtask in (1, 5) else (self.subtask,)


def track_of(name: str, case: str | None = None) -> Track:
    """Return the track named `dstc7-ubuntu-1` or `ubuntu-1`, optionally followed by `-case1`.

    Raises `UsageError` for any other name.
    """
    parts = name.lower().removeprefix(f"{PREFIX}-").split("-")
    if len(parts) == 3 and parts[2] in CASES:
        case = parts.pop()
    for dataset in SUBTASKS:
        if len(parts) == 2 and parts[0] == dataset and parts[1].isdecimal():
            return Track(dataset, int(parts[1]), case)
    raise UsageError(unknown("track", name, TRACK_NAMES))


def track_of_file(file: str) -> Track | None:
    """Return the track in a submission's official name; None for any other name.

    Official names are `Ubuntu_subtask_1.json` and `Advising_subtask_3.json`, for Advising
    optionally with `_case1` or `_case2`; `.gz`, `.xz` or `.zst` may follow.
    """
    match = _FILE.fullmatch(plain_name(PurePath(file).name))
    if match is None:
        return None
    dataset: Dataset = "ubuntu" if match[1].lower() == "ubuntu" else "advising"
    try:
        return Track(dataset, int(match[2]), match[3] and match[3].lower())
    except UsageError:
        return None


def track_from(name: str | None, file: str, *, is_output: bool = False) -> Track:
    """Return the track called `name`; without a name, the track in the submission's file name.

    Raises `UsageError` if neither the name nor the file name states a track. Raises `InputError` if
    an input file does not exist.
    """
    named = track_of_file(file)
    if name is not None:
        asked = track_of(name)
        is_same = named is not None and named.name == asked.name and asked.case is None
        return named if named is not None and is_same else asked
    if named is not None:
        return named
    is_local = file != STANDARD_INPUT and not is_url(file)
    if is_local and not is_output and not Path(file).is_file():
        reason = "it is a folder" if Path(file).is_dir() else "there is no such file"
        raise InputError([Problem("unreadable", f"cannot be read: {reason}", file=file)])
    raise UsageError(
        f"{shorten(file)}: the name does not state the dataset and subtask, as in "
        f"{Track('ubuntu', 1).file_name}: name the track with "
        f"{'--track' if is_output else '--benchmark'}, one of {', '.join(TRACK_NAMES)}"
    )
