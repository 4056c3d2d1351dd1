"""Simulated users of one's own: ranges of their parameters, and their patience, in a JSON file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from mwzeval.errors import InputError, Problem, did_you_mean, shorten
from mwzeval.files.reading import RepeatedKeys, read_json
from mwzeval.pydial.dialogue.user_parameters import STANDARD, Range, UserModel
from mwzeval.pydial.tasks import OWN_USER

PATIENCE = "patience"
MOST_PATIENCE = 25
"""A dialogue has no more exchanges."""
ALTERNATIVES = tuple(
    (f"{name}_1", f"{name}_2")
    for name in (
        "thank_ack",
        "request_alternatives",
        "new_request_response",
        "correcting_act",
    )
)
"""Of such two at most one happens, so together they are no more than certain."""
_NOT_IN_NAMES = re.compile(r"[^\w.+-]+")


def read_user(path: str | Path) -> tuple[str, UserModel]:
    """Return users from a file, and their name, which has that of the file and its checksum.

    The file is an object of ranges [least, most] by the names of `UserParameters`, and `patience`,
    which is one of fruitless turns. What is missing is as with standard users. Raises `InputError`
    with every problem.
    """
    file = str(path)
    plain = read_json(path)
    if problems := list(_problems(plain, file)):
        raise InputError(problems)
    ranges: dict[str, Range] = {
        name: (float(pair[0]), float(pair[1])) for name, pair in plain.items() if name != PATIENCE
    }
    patience = None
    if PATIENCE in plain:
        least, most = plain[PATIENCE]
        patience = tuple(range(least, most + 1))
    said = json.dumps([sorted(ranges.items()), patience]).encode()
    stem = _NOT_IN_NAMES.sub("-", Path(path).stem)
    name = f"{OWN_USER}{stem}-{sha256(said).hexdigest()[:6]}"
    return name, UserModel({**STANDARD, **ranges}, patience)


def _problems(plain: Any, file: str) -> Iterator[Problem]:
    def wrong(message: str, key: str | None = None) -> Problem:
        return Problem("user", message, key=key, file=file)

    if not isinstance(plain, Mapping):
        yield wrong('expected an object of ranges, such as {"greeting": [0.3, 0.7]}')
        return
    for key in plain.repeated if isinstance(plain, RepeatedKeys) else ():
        yield wrong("given more than once", key)
    known = (*STANDARD, PATIENCE)
    right = set()
    for key, pair in plain.items():
        most, kind = (MOST_PATIENCE, int) if key == PATIENCE else (1, (int, float))
        least = 1 if key == PATIENCE else 0
        what = f"whole numbers from 1 to {most}" if key == PATIENCE else "probabilities"
        if key not in known:
            yield wrong(f"no parameter of users{did_you_mean(key, known)}", key)
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
                    f"of {' and '.join(pair)} one may happen: together they are up to "
                    f"{highest:g}, which is more than 1",
                    pair[0],
                )
