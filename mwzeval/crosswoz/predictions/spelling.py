"""What predictions write as gold does, but in another width or case, or with other blanks.

The services of hotels, which are slots of acts: those that there are, and others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mwzeval.crosswoz.corpus.acts import Act, parse_act
from mwzeval.crosswoz.corpus.folds import Fold, Gold
from mwzeval.crosswoz.corpus.names import HOTEL, SERVICES
from mwzeval.crosswoz.corpus.normalization import comparable, comparable_text
from mwzeval.crosswoz.findings import Findings
from mwzeval.crosswoz.predictions.reading import Predicted, Predictions
from mwzeval.crosswoz.predictions.tracks import (
    DST,
    NLU,
    POLICY,
    SIMULATOR,
    SYSTEM_ACTS,
    SYSTEM_ACTS_DELEX,
    SYSTEM_ACTS_NLU,
    USER_ACTS,
    Track,
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


HALF_AND_FULL = "width (full or half), case or blanks"


def note_spelling(
    predictions: Predictions, fold: Fold, tracks: Sequence[Track], findings: Findings
) -> None:
    """Count values that are gold's but for their spelling, with the first place of each kind."""
    for name, exchanges in predictions.dialogues.items():
        dialogue = fold.dialogues[name]
        for turn, (gold, said) in enumerate(zip(dialogue.exchanges, exchanges, strict=True)):
            place = {"dialogue": name, "turn": turn}
            pairs: list[tuple[str, Iterable[Act] | None, Iterable[Act], bool]] = []
            if NLU in tracks or SIMULATOR in tracks:
                same = SIMULATOR not in tracks
                pairs.append(("user_acts", said.user_acts, gold.user.acts, same))
            if NLU in tracks:
                pairs.append(("system_acts_nlu", said.system_acts_nlu, gold.system.acts, True))
            if POLICY in tracks:
                pairs.append(("system_acts", said.system_acts, gold.system.acts, False))
            for key, acts, of_gold, counts_as_right in pairs:
                count = _respelled(acts or (), of_gold)
                if count:
                    findings.warning(
                        "other-spelling",
                        f"acts are gold's but for {HALF_AND_FULL}: "
                        + ("they are right" if counts_as_right else "they are wrong here"),
                        count=count,
                        key=key,
                        **place,
                    )
            if DST in tracks and said.state is not None:
                count = _respelled_values(said.state, gold.system.first_query)
                if count:
                    findings.warning(
                        "other-spelling",
                        f"values of states are gold's but for {HALF_AND_FULL}: they are wrong, "
                        "except for blanks in the normalised variants",
                        count=count,
                        key="state",
                        **place,
                    )


def _respelled(acts: Iterable[Act], gold: Iterable[Act]) -> int:
    wanted = set(gold)
    odd = [act for act in acts if act not in wanted]
    if not odd:
        return 0
    forms = {comparable(act) for act in wanted}
    return sum(comparable(act) in forms for act in odd)


def _respelled_values(state: dict[str, dict[str, str]], gold: dict[str, dict[str, str]]) -> int:
    if state == gold:
        return 0
    return sum(
        value != gold[domain][slot]
        and comparable_text(value) == comparable_text(gold[domain][slot])
        for domain, slots in state.items()
        if domain in gold
        for slot, value in slots.items()
        if slot in gold[domain]
    )
