"""The behavior of simulated users: 26 probabilities, drawn for every dialogue from ranges.

The ranges of these probabilities come from the benchmark or from a JSON file.

Source: Casanueva et al. (2017), section 4, and the benchmark's configuration files.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from mwzeval.errors import InputError, Problem, UsageError, did_you_mean, shorten, unknown
from mwzeval.files.reading import RepeatedKeys, read_json
from mwzeval.pydial.tasks import OWN_USER, name_part

Range = tuple[float, float]


_SELDOM, _SOMETIMES, _OFTEN, _HALF = (0.01, 0.2), (0.01, 0.3), (0.1, 0.4), (0.3, 0.5)
STANDARD: Mapping[str, Range] = {
    "inform_combination": (0.2, 0.7),
    "affirm_combination": (0.2, 0.7),
    "greeting": (0.3, 0.7),
    "constraint_relax": (0.5, 0.8),
    "tell_about_change": (0.4, 0.6),
    "add_slot_to_request": (0.2, 0.4),
    "no_after_reqmore": (0.8, 0.9),
    "yes_after_reqmore": (0.2, 0.3),
    "bye_or_start_over": (0.2, 0.5),
    "deal_with_pending": (0.4, 0.6),
    "add_venue_name_to_request": _SELDOM,
    "inform_to_confirm": _SELDOM,
    "comb_affirm_with_agenda_item": _SELDOM,
    "overrule_correction": _SELDOM,
    "thank_ack_1": _SELDOM,
    "thank_ack_2": _SELDOM,
    "no_slot_with_dontcare": (0.7, 0.9),
    "confirm_random_constraint": _SOMETIMES,
    "request_alternatives_1": _SOMETIMES,
    "request_alternatives_2": _SOMETIMES,
    "new_request_response_1": _OFTEN,
    "new_request_response_2": _OFTEN,
    "correcting_act_1": _HALF,
    "correcting_act_2": _HALF,
    "repeat": (0.0, 0.0),
    "null_response": (0.0, 0.0),
}
"""The ranges of the probabilities of a user's choices, in the order of their codes:

* `inform_combination`, `affirm_combination`: add the next inform act to the user act;
* `comb_affirm_with_agenda_item`: answer "anything else?" with "yes" and the next agenda item;
* `greeting`: return a greeting;
* `constraint_relax`: drop a constraint instead of changing its value;
* `tell_about_change`: inform the system about a changed constraint;
* `bye_or_start_over`: leave instead of starting over if the goal cannot be changed;
* `deal_with_pending`: say pending acts before requesting slots;
* `add_venue_name_to_request`, `add_slot_to_request`: add the name or another slot to a request;
* `inform_to_confirm`: replace the inform acts on the agenda with confirm acts;
* `overrule_correction`: confirm an omitted constraint instead of correcting an item;
* `thank_ack_1`, `thank_ack_2`: thank or acknowledge instead of requesting more;
* `no_slot_with_dontcare`: say "I don't care" without the slot;
* `confirm_random_constraint`: ask the system to confirm a constraint;
* `request_alternatives_1`, `request_alternatives_2`: after the first offer, request an
  alternative, or change the goal;
* `new_request_response_1`, `new_request_response_2`: if the system requests a slot without a
  constraint, inform about another slot, or say "I don't care" without changing the goal;
* `correcting_act_1`, `correcting_act_2`: correct with negate, or with deny (otherwise: inform);
* `no_after_reqmore`, `yes_after_reqmore`: answer "anything else?" with "no" or "yes";
* `repeat`, `null_response`: ask for repetition, or say nothing (never in the benchmark).
"""
UNFRIENDLY: Mapping[str, Range] = {
    **STANDARD,
    "inform_combination": (0.0, 0.4),
    "affirm_combination": (0.0, 0.4),
    "greeting": (0.1, 0.4),
    "constraint_relax": (0.2, 0.5),
    "tell_about_change": (0.2, 0.4),
}
IMPATIENT: Mapping[str, Range] = {
    **STANDARD,
    "bye_or_start_over": (0.6, 0.9),
}
TALKATIVE: Mapping[str, Range] = {
    **STANDARD,
    "inform_combination": (0.8, 0.95),
    "affirm_combination": (0.8, 0.95),
    "greeting": (0.8, 0.95),
    "tell_about_change": (0.7, 0.9),
    "add_slot_to_request": (0.5, 0.8),
    "add_venue_name_to_request": (0.3, 0.6),
    "comb_affirm_with_agenda_item": (0.4, 0.7),
    "thank_ack_1": (0.25, 0.4),
    "thank_ack_2": (0.25, 0.4),
    "confirm_random_constraint": (0.35, 0.6),
}
FICKLE: Mapping[str, Range] = {
    **STANDARD,
    "constraint_relax": (0.0, 0.15),
    "request_alternatives_1": (0.35, 0.45),
    "request_alternatives_2": (0.35, 0.45),
    "new_request_response_1": (0.42, 0.5),
    "new_request_response_2": (0.42, 0.5),
}
USER_MODELS: Mapping[str, Mapping[str, Range]] = {
    "standard": STANDARD,
    "unfriendly": UNFRIENDLY,
    "impatient": IMPATIENT,
    "talkative": TALKATIVE,
    "fickle": FICKLE,
}
"""The users of the benchmark, and users whose ranges lie outside the benchmark's ranges."""
PATIENCE = (4, 5, 6)
"""The possible numbers of fruitless turns before a user leaves, with equal probabilities."""
LEGACY_PATIENCE = (4, 5)
"""The corresponding numbers in the published program, which omits the upper end of the range."""
OTHER_PATIENCE: Mapping[str, tuple[int, ...]] = {"impatient": (2, 3)}
"""The patience of users whose patience differs from the benchmark."""


class UserModel:
    """The ranges of the user's parameters, in a form from which values can be drawn.

    `patience` has the possible numbers of fruitless turns, which have equal probabilities; None
    selects the values of the benchmark.
    """

    def __init__(self, ranges: Mapping[str, Range], patience: Sequence[int] | None = None) -> None:
        self.patience = patience
        self.ranges = tuple(
            (ranges[name][0], ranges[name][1] - ranges[name][0]) for name in STANDARD
        )

    def patience_in(self, legacy: bool) -> Sequence[int]:
        """Return the possible numbers of fruitless turns before the user gives up."""
        return self.patience or (LEGACY_PATIENCE if legacy else PATIENCE)


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
