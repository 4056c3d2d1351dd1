"""PyDial's own domains, and recorded results of the original program."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from mwzeval.pydial.domain import Domain, load_domain
from tests.places import read_json, shared
from tests.pydial.simulator.parts import UserParameters

CODES = ("CR", "SFR", "LAP")
PUBLISHED_PARAMETERS = {
    "InformCombination": "inform_combination",
    "AffirmCombination": "affirm_combination",
    "Greeting": "greeting",
    "ConstraintRelax": "constraint_relax",
    "TellAboutChange": "tell_about_change",
    "AddSlotToReq": "add_slot_to_request",
    "NoAfterReqmore": "no_after_reqmore",
    "YesAfterReqmore": "yes_after_reqmore",
    "ByeOrStartOver": "bye_or_start_over",
    "DealWithPending": "deal_with_pending",
    "AddVenueNameToRequest": "add_venue_name_to_request",
    "InformToConfirm": "inform_to_confirm",
    "CombAffirmWithAgdItem": "comb_affirm_with_agenda_item",
    "OverruleCorrection": "overrule_correction",
    "ThankAck1": "thank_ack_1",
    "ThankAck2": "thank_ack_2",
    "NoSlotWithDontcare": "no_slot_with_dontcare",
    "ConfirmRandomConstr": "confirm_random_constraint",
    "ReqAltsAfterVenRec1": "request_alternatives_1",
    "ReqAltsAfterVenRec2": "request_alternatives_2",
    "NewRequestResp1": "new_request_response_1",
    "NewRequestResp2": "new_request_response_2",
    "CorrectingAct1": "correcting_act_1",
    "CorrectingAct2": "correcting_act_2",
    "Repeat": "repeat",
    "NullResp": "null_response",
}
"""The original's name of a user parameter → mwzeval's name."""


@cache
def domain(code: str) -> Domain:
    """Return one of PyDial's domains; skips the test without the data."""
    return load_domain(code, shared("data", "pydial"))


@cache
def statistics() -> dict[str, Any]:
    """Return the original's statistics of goals and errors, by environment and domain."""
    stats: dict[str, Any] = read_json(shared("golden", "pydial", "golden_stats.json"))["stats"]
    return stats


@cache
def traces() -> tuple[dict[str, Any], ...]:
    """Return the recorded dialogues of the original."""
    text = shared("golden", "pydial", "traces.jsonl").read_text(encoding="utf-8")
    return tuple(json.loads(line) for line in text.splitlines())


def task_name(name: str) -> str:
    """Convert the golden files' name of a task ("env3-CR") to mwzeval's ("CR-3")."""
    environment, code = name.removeprefix("env").split("-")
    return f"{code}-{environment}"


def parameters(published: dict[str, float]) -> Any:
    """Convert the original's parameters of a user."""
    return UserParameters(**{PUBLISHED_PARAMETERS[key]: p for key, p in published.items()})
