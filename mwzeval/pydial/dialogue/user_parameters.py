"""The behaviour of a simulated user: 26 probabilities, drawn for every dialogue.

Source: Casanueva et al. (2017), section 4, and the benchmark's configuration files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from mwzeval.errors import UsageError, unknown

Range = tuple[float, float]


class UserParameters(NamedTuple):
    """The probabilities of one user.

    Each says how probable it is that the user does the following:

    * `inform_combination`, `affirm_combination`: add the next thing to say to what is being said;
    * `comb_affirm_with_agenda_item`: take "anything else?" as a chance to go on, with "yes";
    * `greeting`: greet back;
    * `constraint_relax`: give a constraint up instead of changing its value;
    * `tell_about_change`: say which constraint changed;
    * `bye_or_start_over`: leave when nothing can be changed;
    * `deal_with_pending`: say what is still to be said before asking;
    * `add_venue_name_to_request`, `add_slot_to_request`: ask with the name, for one slot more;
    * `inform_to_confirm`: turn what is to be said into questions;
    * `overrule_correction`: not correct at once;
    * `thank_ack_1`, `thank_ack_2`: thank, acknowledge instead of asking on;
    * `no_slot_with_dontcare`: say "I don't care" without the slot;
    * `confirm_random_constraint`: check one of the own constraints;
    * `request_alternatives_1`, `request_alternatives_2`: after the first offer, ask for another
      one, change the goal;
    * `new_request_response_1`, `new_request_response_2`: asked for something without preference,
      say something else, "I don't care" without meaning it;
    * `correcting_act_1`, `correcting_act_2`: correct by negate, by deny (else by inform);
    * `no_after_reqmore`, `yes_after_reqmore`: answer "anything else?" with "no", with "yes";
    * `repeat`, `null_response`: ask to repeat, say nothing (never, in the benchmark).
    """

    inform_combination: float
    affirm_combination: float
    greeting: float
    constraint_relax: float
    tell_about_change: float
    add_slot_to_request: float
    no_after_reqmore: float
    yes_after_reqmore: float
    bye_or_start_over: float
    deal_with_pending: float
    add_venue_name_to_request: float
    inform_to_confirm: float
    comb_affirm_with_agenda_item: float
    overrule_correction: float
    thank_ack_1: float
    thank_ack_2: float
    no_slot_with_dontcare: float
    confirm_random_constraint: float
    request_alternatives_1: float
    request_alternatives_2: float
    new_request_response_1: float
    new_request_response_2: float
    correcting_act_1: float
    correcting_act_2: float
    repeat: float
    null_response: float


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
"""The users of the benchmark, and others whose ranges lie outside of those of both."""
PATIENCE = (4, 5, 6)
"""How many fruitless turns a user takes, each number as likely as the others."""
LEGACY_PATIENCE = (4, 5)
"""The original leaves the upper end of its range out."""
OTHER_PATIENCE: Mapping[str, tuple[int, ...]] = {"impatient": (2, 3)}
"""That of users who have one of their own."""


class UserModel:
    """Ranges of the parameters, prepared for drawing.

    `patience` has the numbers of fruitless turns that the users take, each as likely as the others;
    None: those of the benchmark.
    """

    def __init__(self, ranges: Mapping[str, Range], patience: Sequence[int] | None = None) -> None:
        self.patience = patience
        self.ranges = tuple(
            (ranges[name][0], ranges[name][1] - ranges[name][0]) for name in UserParameters._fields
        )

    def patience_in(self, legacy: bool) -> Sequence[int]:
        """Return the numbers of fruitless turns that users take."""
        return self.patience or (LEGACY_PATIENCE if legacy else PATIENCE)


def user_model(name: str) -> UserModel:
    """Return a user model by its name. Raises `UsageError` for an unknown one."""
    if name not in USER_MODELS:
        raise UsageError(unknown("user model", name, USER_MODELS))
    return UserModel(USER_MODELS[name], OTHER_PATIENCE.get(name))
