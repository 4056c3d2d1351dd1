"""The behavior of simulated users: 26 probabilities, drawn for every dialogue from ranges.

The ranges of these probabilities come from the benchmark, whose ranges are in the file
`data/pydial/user_models.tsv`, or from a JSON file.

Source: Casanueva et al. (2017), section 4, and the benchmark's configuration files.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from mwzeval.errors import InputError, Problem, UsageError, did_you_mean, shorten, unknown
from mwzeval.files.downloads import embedded
from mwzeval.files.reading import RepeatedKeys, read_json, table_rows
from mwzeval.pydial.tasks import OWN_USER, USERS, name_part

Range = tuple[float, float]
_ROWS = tuple(table_rows(embedded("pydial", "user_models.tsv"), 2 + len(USERS)))


def _range(text: str) -> Range:
    low, high = map(float, text.split("-"))
    return low, high


USER_MODELS: Mapping[str, Mapping[str, Range]] = {
    name: {row[0]: _range(row[column]) for row in _ROWS}
    for column, name in enumerate(USERS, start=2)
}
"""The ranges of each kind of user: the users of the benchmark, and users outside its ranges."""
STANDARD = USER_MODELS["standard"]
PATIENCE = (4, 5, 6)
"""The possible numbers of fruitless turns before a user leaves, with equal probabilities."""
LEGACY_PATIENCE = (4, 5)
"""The corresponding numbers in the published program, which omits the upper end of the range."""
OTHER_PATIENCE: Mapping[str, tuple[int, ...]] = {"impatient": (2, 3)}
"""The patience of users whose patience differs from the benchmark."""


@dataclass(frozen=True, slots=True)
class UserModel:
    """The ranges of a user's parameters.

    `patience` has the possible numbers of fruitless turns, which have equal probabilities; None
    selects the values of the benchmark.
    """

    ranges: Mapping[str, Range]
    patience: Sequence[int] | None = None


def user_model(name: str) -> UserModel:
    """Return a user model by its name. Raises `UsageError` for an unknown name."""
    if name not in USER_MODELS:
        raise UsageError(unknown("user model", name, USER_MODELS))
    return UserModel(USER_MODELS[name], OTHER_PATIENCE.get(name))


PATIENCE_KEY = "patience"
MOST_PATIENCE = 25
"""The maximum number of turns in a dialogue."""
ALTERNATIVES = tuple(
    (f"{name}_1", f"{name}_2")
    for name in (
        "thank_ack",
        "request_alternatives",
        "new_request_response",
        "correcting_act",
    )
)
"""Pairs of exclusive choices, whose probabilities add up to at most 1."""


def read_user(path: str | Path) -> tuple[str, UserModel]:
    """Read a user model from a file; return its name, which contains the file's name and checksum.

    The file is an object with ranges [least, most] by the names in `STANDARD`, and a range
    `patience` of fruitless turns. For missing keys, the ranges of standard users are used. Raises
    `InputError` with all problems.
    """
    file = str(path)
    plain = read_json(path)
    if problems := list(_problems(plain, file)):
        raise InputError(problems)
    ranges: dict[str, Range] = {
        name: (float(pair[0]), float(pair[1]))
        for name, pair in plain.items()
        if name != PATIENCE_KEY
    }
    patience = None
    if PATIENCE_KEY in plain:
        least, most = plain[PATIENCE_KEY]
        patience = tuple(range(least, most + 1))
    said = json.dumps([sorted(ranges.items()), patience]).encode()
    name = f"{OWN_USER}{name_part(Path(path).stem)}-{sha256(said).hexdigest()[:6]}"
    return name, UserModel({**STANDARD, **ranges}, patience)


def _problems(plain: Any, file: str) -> Iterator[Problem]:
    def wrong(message: str, key: str | None = None) -> Problem:
        return Problem("user", message, key=key, file=file)

    if not isinstance(plain, Mapping):
        yield wrong('expected an object of ranges, such as {"greeting": [0.3, 0.7]}')
        return
    for key in plain.repeated if isinstance(plain, RepeatedKeys) else ():
        yield wrong("repeated", key)
    known = (*STANDARD, PATIENCE_KEY)
    right = set()
    for key, pair in plain.items():
        most, kind = (MOST_PATIENCE, int) if key == PATIENCE_KEY else (1, (int, float))
        least = 1 if key == PATIENCE_KEY else 0
        what = f"whole numbers from 1 to {most}" if key == PATIENCE_KEY else "probabilities"
        if key not in known:
            yield wrong(f"unknown user parameter{did_you_mean(key, known)}", key)
        elif (
            not isinstance(pair, list)
            or len(pair) != 2
            or not all(isinstance(n, kind) and not isinstance(n, bool) for n in pair)
            or not least <= pair[0] <= pair[1] <= most
        ):
            given = shorten(json.dumps(pair))
            yield wrong(f"expected [least, most], {what}, got {given}", key)
        else:
            right.add(key)
    for pair in ALTERNATIVES:
        if right.intersection(pair):
            highest = sum((plain[key] if key in right else STANDARD[key])[1] for key in pair)
            if highest > 1:
                yield wrong(
                    f"{' and '.join(pair)} are probabilities of exclusive events, but their sum "
                    f"can reach {highest:g}",
                    pair[0],
                )
