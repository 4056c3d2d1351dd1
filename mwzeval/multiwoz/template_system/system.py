"""The template system run over a fold: gold states in, predictions out.

Values for the placeholders of a reply: the database's, and made-up ones where it has none.
"""

from __future__ import annotations

import hashlib
import re
import string
from collections.abc import Mapping
from typing import Any

from mwzeval.multiwoz.choices import Rules
from mwzeval.multiwoz.corpus.corpora import GoldFold
from mwzeval.multiwoz.template_system.catalogue import Catalogue
from mwzeval.multiwoz.template_system.policy import Policy, Reply

Services = Mapping[str, Mapping[str, str]]
"""Domain without a choice of venues (police, hospital) → slot → value."""

_PLACEHOLDER = re.compile(r"\[([a-z]+)_([a-z]+)\]")
_BEFORE_A_VOWEL = re.compile(r"\ba (?=[aeiou])")
_CODE = string.ascii_uppercase + string.digits
_COLOURS = ("black", "blue", "green", "grey", "red", "silver", "white")
_MAKES = ("audi", "bmw", "ford", "honda", "skoda", "tesla", "toyota", "volvo")
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
        digest = hashlib.sha256(f"{dialogue} {domain} {slot}".encode()).digest()
        if slot == "reference":
            return "".join(_CODE[byte % len(_CODE)] for byte in digest[:8])
        if domain == "taxi" and slot == "phone":
            return "07" + "".join(str(byte % 10) for byte in digest[:9])
        if domain == "taxi":
            return f"{_COLOURS[digest[0] % len(_COLOURS)]} {_MAKES[digest[1] % len(_MAKES)]}"
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
