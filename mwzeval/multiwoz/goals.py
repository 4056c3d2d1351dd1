"""Goals and bookings out of a MultiWOZ 2.0/2.1-format `data.json` dialogue.

Source: the `goal` and `metadata` annotations of Budzianowski et al., EMNLP 2018; which slots
count as requested is the choice of Nekvinda and Dušek, GEM 2021.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mwzeval.multiwoz.corpus.gold import ALL_DOMAINS, Goal, booking_of
from mwzeval.multiwoz.normalization.normalize import normalize_slot

REQUESTS = {"phone": "PHONE", "address": "ADDRESS", "postcode": "POST", "reference": "REFERENCE"}
"""Requested slots that count; whoever asks only for, say, the entrance fee asks for nothing."""

TRAIN_REQUESTS = {"trainID": "TRAINID"}


def goals_of(annotated: Mapping[str, Any]) -> dict[str, Goal]:
    """Return the goal per domain of a dialogue's `goal` annotation; empty domains are left out."""
    return {
        domain: _goal(domain, annotated[domain]) for domain in ALL_DOMAINS if annotated.get(domain)
    }


def _goal(domain: str, annotated: Mapping[str, Any]) -> Goal:
    requests = TRAIN_REQUESTS if domain == "train" else REQUESTS
    requestable = {requests[slot] for slot in annotated.get("reqt", ()) if slot in requests}
    if annotated.get("book"):
        requestable.add("REFERENCE")
    informable = {
        normalize_slot(slot): str(value) for slot, value in annotated.get("info", {}).items()
    }
    booking = booking_of(annotated.get("book"), annotated.get("fail_book"))
    return Goal(informable, frozenset(requestable), booking)


def booked_domains_of(log: list[Mapping[str, Any]]) -> tuple[frozenset[str], ...]:
    """Return the domains booked by each system turn of a dialogue's `log`.

    A taxi has no reference number, so its bookings do not count.
    """
    return tuple(
        frozenset(
            domain
            for domain, slots in turn["metadata"].items()
            if domain != "taxi" and slots.get("book", {}).get("booked")
        )
        for turn in log[1::2]
    )
