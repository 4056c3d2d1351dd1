"""The tracks: pairs of dataset and subtask, how they and their files are called, what they allow.

The ids of all files of a track are compared in one form, whatever type and case a file has them in
(`example_id`, `candidate_id`). Importing this is cheap: the command line needs it at once.
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
    """How submissions are checked and scored.

    `metric` is `ranking` (the official scores) or `fscore` (F over the choices that cover
    `coverage` of the probability, from the task description). `strict` makes errors of what is
    otherwise scored with a warning. `order` says what ranks: the `list`, as the official scorer
    has it, or the `confidence`. `compat="2018"` reproduces three faults of the organizers' script:
    Recall@100 counts any place, MAP depends on the order of the targets, and repeats count.

    Raises `UsageError` for anything else.
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
"""The id that stands for "none of the candidates is correct" (subtask 4)."""


def candidate_id(raw: Any) -> str | None:
    """Return the canonical form of a candidate's id; None for what cannot be one.

    That is the decimal string of an integer (Advising), else the text without outer blanks in
    upper case (Ubuntu has 12 of A–Z and 0–9, later editions lower-case hexadecimal).
    """
    if type(raw) is str:
        return raw.strip().upper() or None
    return _decimal(raw) if type(raw) is int else None


def example_id(raw: Any) -> str | None:
    """Return the canonical form of an example's id; None for what cannot be one.

    That is the decimal string of a number, written as a number or as text.
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
    except ValueError:  # more digits than Python converts
        return None


def plain_id(identity: str) -> int | str:
    """Return an id as files have it: a number where it is one, else the text."""
    is_number = identity.isascii() and identity.isdigit() and len(identity) < 19
    return int(identity) if is_number and str(int(identity)) == identity else identity


Dataset = Literal["ubuntu", "advising"]
SUBTASKS: dict[Dataset, tuple[int, ...]] = {"ubuntu": (1, 2, 4, 5), "advising": (1, 3, 4, 5)}
"""Which subtasks are evaluated on a dataset."""
CASES = ("case1", "case2")
"""The test sets of Advising, scored separately."""
SPEAKERS: dict[Dataset, frozenset[str]] = {
    "ubuntu": frozenset({"participant_1", "participant_2"}),
    "advising": frozenset({"student", "advisor"}),
}
RANKED = 100
"""How many candidates a ranking has: the whole list, or the best of the pool."""
CHOICES = 10
"""How many choices the task description's metric takes."""
PREFIX = "dstc7"
TRACK_NAMES = tuple(f"{PREFIX}-{dataset}-{n}" for dataset in SUBTASKS for n in SUBTASKS[dataset])
_FILE = re.compile(r"(ubuntu|advising)_subtask_([0-9]+)(?:_(case[12]))?\.json", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Track:
    """A dataset and subtask, and for Advising the test set if it is known."""

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
        """What the track is called here: `dstc7-ubuntu-1`, without the test set."""
        return f"{PREFIX}-{self.dataset}-{self.subtask}"

    @property
    def file_name(self) -> str:
        """What a submission is to be called."""
        case = "" if self.case is None else f"_{self.case}"
        return f"{self.dataset.capitalize()}_subtask_{self.subtask}{case}.json"

    @property
    def has_none(self) -> bool:
        """Whether "none of these" may be the answer."""
        return self.subtask == 4

    @property
    def has_pool(self) -> bool:
        """Whether candidates come from one pool, not from a list of each example."""
        return self.subtask == 2

    @property
    def scenarios(self) -> tuple[int, ...]:
        """Which subtask the dialogue files of this track name: those of 5 are the files of 1."""
        return (1, 5) if self.subtask in (1, 5) else (self.subtask,)


def track_of(name: str, case: str | None = None) -> Track:
    """Return the track called `dstc7-ubuntu-1` or `ubuntu-1`, perhaps with `-case1` behind it.

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
    """Return the track that a submission's official name says; None for any other name.

    Official is `Ubuntu_subtask_1.json` or `Advising_subtask_3.json`, the latter perhaps with
    `_case1` or `_case2`; `.gz`, `.xz` or `.zst` may follow.
    """
    match = _FILE.fullmatch(plain_name(PurePath(file).name))
    if match is None:
        return None
    dataset: Dataset = "ubuntu" if match[1].lower() == "ubuntu" else "advising"
    try:
        return Track(dataset, int(match[2]), match[3] and match[3].lower())
    except UsageError:
        return None


def track_from(name: str | None, file: str) -> Track:
    """Return the track that was asked for, else the one that the submission's name says.

    Raises `UsageError` when neither says it, `InputError` when there is no such file.
    """
    named = track_of_file(file)
    if name is not None:
        asked = track_of(name)
        is_same = named is not None and named.name == asked.name and asked.case is None
        return named if named is not None and is_same else asked
    if named is not None:
        return named
    if file != STANDARD_INPUT and not is_url(file) and not Path(file).is_file():
        reason = "it is a folder" if Path(file).is_dir() else "there is no such file"
        raise InputError([Problem("unreadable", f"cannot be read: {reason}", file=file)])
    raise UsageError(
        f"{shorten(file)}: the name does not state the dataset and subtask, as in "
        f"{Track('ubuntu', 1).file_name}: name the track with --benchmark, one of "
        f"{', '.join(TRACK_NAMES)} (--track of `mwzeval dstc7`)"
    )
