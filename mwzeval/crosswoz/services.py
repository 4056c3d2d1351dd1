"""The services of hotels, which are slots of acts: those that there are, and others."""

from __future__ import annotations

from mwzeval.crosswoz.corpus.acts import Act, parse_act
from mwzeval.crosswoz.corpus.names import HOTEL, SERVICES
from mwzeval.crosswoz.findings import Findings
from mwzeval.crosswoz.gold import Gold
from mwzeval.crosswoz.predictions.reading import Predicted, Predictions
from mwzeval.crosswoz.predictions.tracks import (
    SYSTEM_ACTS,
    SYSTEM_ACTS_DELEX,
    SYSTEM_ACTS_NLU,
    USER_ACTS,
)
from mwzeval.errors import did_you_mean, shorten

SHOWN = 8


def check_services(predictions: Predictions, gold: Gold, findings: Findings) -> None:
    """Note acts about services that neither a hotel of the database nor an act of gold has.

    As with other slots that do not exist, that is an error, or counts as wrong if lenient.
    """
    said = [
        (name, turn, key, act.service)
        for name, exchanges in predictions.dialogues.items()
        for turn, predicted in enumerate(exchanges)
        for key, act in _acts(predicted)
        if act.is_service
    ]
    if not said:
        return
    known = services_of(gold)
    for name, turn, key, service in said:
        if service is not None and service not in known:
            some = ", ".join(sorted(known)[:SHOWN])
            message = (
                f'unknown service "{shorten(service)}"{did_you_mean(service, known)} (known: '
                f"{some}{', …' if len(known) > SHOWN else ''})"
            )
            findings.wrong_answer("unknown-service", message, dialogue=name, turn=turn, key=key)


def services_of(gold: Gold) -> frozenset[str]:
    """Return the services that hotels of the database have, and those that gold speaks of."""
    listed = (hotel.record.get(SERVICES) or () for hotel in gold.database.entities(HOTEL))
    offered = {service for services in listed for service in services}
    told = {
        act.service
        for dialogue in gold.fold.dialogues.values()
        for exchange in dialogue.exchanges
        for act in (*exchange.user.acts, *exchange.system.acts)
        if act.is_service
    }
    return frozenset(service for service in (*offered, *told) if service)


def _acts(predicted: Predicted) -> list[tuple[str, Act]]:
    acts = [
        (key, act)
        for key, of_side in (
            (USER_ACTS, predicted.user_acts),
            (SYSTEM_ACTS, predicted.system_acts),
            (SYSTEM_ACTS_NLU, predicted.system_acts_nlu),
        )
        for act in of_side or ()
    ]
    delexicalized = map(parse_act, predicted.system_acts_delex or ())
    return acts + [(SYSTEM_ACTS_DELEX, act) for act in delexicalized]
