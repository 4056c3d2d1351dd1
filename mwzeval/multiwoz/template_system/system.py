"""The template system run over a fold: gold states in, predictions out.

Values for the placeholders of a reply: the database's, and made-up ones where it has none.
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping
from typing import Any

from mwzeval.multiwoz.choices import Rules
from mwzeval.multiwoz.corpus.corpora import GoldFold
from mwzeval.multiwoz.database.inventions import car, digest, phone_number, reference
from mwzeval.multiwoz.template_system.catalogue import Catalogue
from mwzeval.multiwoz.template_system.policy import Policy, Reply

Services = Mapping[str, Mapping[str, str]]
"""Domain without a choice of venues (police, hospital) → slot → value."""

_PLACEHOLDER = re.compile(r"\[([a-z]+)_([a-z]+)\]")
_BEFORE_A_VOWEL = re.compile(r"\ba (?=[aeiou])")
UNKNOWN = "unknown"
"""Said in place of a value that no file has."""


class FillIn:
    """Puts values in place of placeholders.

    Reference numbers and taxis are made up, from the dialogue's id alone.
    """

    def __init__(self, catalogue: Catalogue, services: Services) -> None:
        self._catalogue = catalogue
        self._services = services

    def __call__(self, dialogue: str, reply: Reply) -> str:
        """Return the response with values."""

        def value(match: re.Match[str]) -> str:
            return self._value(dialogue, match[1], match[2], reply)

        return _BEFORE_A_VOWEL.sub("an ", _PLACEHOLDER.sub(value, reply.response))

    def _value(self, dialogue: str, domain: str, slot: str, reply: Reply) -> str:
        if slot == "choice":
            return str(reply.choices[domain])
        made_up = digest(f"{dialogue} {domain} {slot}")
        if slot == "reference":
            return reference(made_up)
        if domain == "taxi":
            return phone_number(made_up) if slot == "phone" else car(made_up)
        known = self._services.get(domain)
        if known is None:
            known = self._catalogue.row(domain, reply.venues[domain])
        value = known.get(slot, UNKNOWN)
        if slot in ("name", "departure", "destination"):
            return string.capwords(value)
        return value.upper() if slot == "postcode" and value != UNKNOWN else value


def baseline_predictions(
    gold: GoldFold,
    rules: Rules = "2021",
    *,
    states: bool = False,
    services: Services | None = None,
) -> dict[str, list[dict[str, Any]]]:
    """Return the system's predictions for all dialogues of a fold, in its order.

    Turns have `response` and `active_domains`. `states` adds the gold states, which evaluation
    takes anyway where none are predicted: with them it looks as if they were predicted. With
    `services`, what is known of police and hospital, responses hold values and no placeholders.
    """
    catalogue = Catalogue(gold.tables, rules)
    fill_in = None if services is None else FillIn(catalogue, services)
    predictions = {}
    for name, dialogue in gold.dialogues.items():
        policy = Policy(catalogue, name)
        turns = []
        for utterance, state in zip(dialogue.user_utterances, dialogue.states, strict=True):
            reply = policy.reply(utterance, state)
            turn: dict[str, Any] = {
                "response": fill_in(name, reply) if fill_in else reply.response,
                "active_domains": list(reply.domains),
            }
            if states:
                turn["state"] = {domain: dict(slots) for domain, slots in state.items()}
            turns.append(turn)
        predictions[name] = turns
    return predictions
