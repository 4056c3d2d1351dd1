"""The template system run over a fold: gold states in, predictions out."""

from __future__ import annotations

from typing import Any

from mwzeval.multiwoz.choices import Rules
from mwzeval.multiwoz.corpus.corpora import GoldFold
from mwzeval.multiwoz.template_system.catalogue import Catalogue
from mwzeval.multiwoz.template_system.lexical import FillIn, Services
from mwzeval.multiwoz.template_system.policy import Policy


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
