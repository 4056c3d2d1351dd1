"""Do predictions fit the fold that they are scored against, and have they what their tracks need?

Noted are dialogues that the fold lacks, has in another length or that are missing, fields that a
track needs, services that no hotel has, and values that gold has in another spelling.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from mwzeval.crosswoz import LEARNED_FROM, META
from mwzeval.crosswoz.corpus.acts import Act, parse_act
from mwzeval.crosswoz.corpus.folds import FOLDS, Fold, Gold
from mwzeval.crosswoz.corpus.names import HOTEL, SERVICES
from mwzeval.crosswoz.corpus.normalization import comparable, comparable_text
from mwzeval.crosswoz.predictions.fields import COUNTS_AS_WRONG
from mwzeval.crosswoz.predictions.reading import Header, Predicted, Predictions
from mwzeval.crosswoz.predictions.tracks import (
    DST,
    FIELDS,
    GOLD_ACTS,
    JOINT_NAMES,
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
from mwzeval.scores.findings import Findings, Place

SHOWN_IDS = 5
"""How many ids a message names."""


def _check_header(header: Header, fold: Fold, findings: Findings) -> None:
    """Note where a file says that it is for another fold or revision than the one scored."""
    for what, said, scored in (
        ("revision", header.revision, fold.revision),
        ("split", header.split, fold.name),
    ):
        if said is not None and said != scored:
            message = f'{META} says {what} "{shorten(said)}", but "{scored}" is scored'
            if what == "split" and said not in FOLDS:
                message += f"{did_you_mean(said, FOLDS)} (known: {', '.join(FOLDS)})"
            findings.error(f"other-{what}", message, key=META)
    seen = header.more.get(LEARNED_FROM)
    if isinstance(seen, list) and fold.name in seen:
        message = f"the system has seen the {fold.name} fold in training: its scores are too high"
        findings.warning("seen-in-training", message, key=META)


def _check_fit(
    predictions: Predictions,
    fold: Fold,
    findings: Findings,
    *,
    allow_partial: bool,
    other_folds: Mapping[str, frozenset[str]],
) -> None:
    """Note dialogues that the fold lacks, or has in another length, and those that are missing.

    `other_folds` has the ids of folds that are at hand, to say where unknown ones come from.
    """
    unknown = [name for name in predictions.dialogues if name not in fold.dialogues]
    if unknown:
        _unknown(unknown, predictions, fold, findings, other_folds)
    for name, exchanges in predictions.dialogues.items():
        gold = fold.dialogues.get(name)
        if gold is not None and len(exchanges) != len(gold.exchanges):
            message = (
                f"expected {len(gold.exchanges)} exchanges (a user turn and its system turn make "
                f"one), found {len(exchanges)}"
            )
            if len(exchanges) == 2 * len(gold.exchanges):
                message += ": one entry for each exchange, not for each turn"
            findings.error("wrong-length", message, dialogue=name)
    missing = [name for name in fold.dialogues if name not in predictions.dialogues]
    if missing and not allow_partial and len(unknown) < len(predictions.dialogues):
        message = (
            f"{len(missing)} of the {len(fold.dialogues)} dialogues of the fold are missing "
            f"({_some(missing)}); a part is scored with --allow-partial"
        )
        findings.error("missing-dialogues", message)


def _unknown(
    unknown: Sequence[str],
    predictions: Predictions,
    fold: Fold,
    findings: Findings,
    other_folds: Mapping[str, frozenset[str]],
) -> None:
    where = f"the {fold.name} fold ({fold.revision})"
    if len(unknown) < len(predictions.dialogues):
        for name in unknown:
            of = next((f" but in {other}" for other, ids in other_folds.items() if name in ids), "")
            hint = of or did_you_mean(name, fold.dialogues)
            findings.error("unknown-dialogue", f"not in {where}{hint}", dialogue=name)
        return
    message = f"none of the {len(unknown)} dialogues is in {where} ({_some(unknown)})"
    for other, ids in other_folds.items():
        common = sum(name in ids for name in unknown)
        if common == len(unknown):
            message += f"; the ids are of {other}"
        elif common:
            message += f"; {common} of them are in the {other} fold"
    if "train" not in other_folds and len(unknown) > len(fold.dialogues):
        message += f"; the {fold.name} fold has {len(fold.dialogues)}: is this for train?"
    findings.error("other-fold", message)


def _check_fields(predictions: Predictions, tracks: Sequence[Track], findings: Findings) -> None:
    """Note exchanges that lack what a track needs, each with its place."""
    for track in tracks:
        needed = fields_needed(predictions, track)
        if track.any_of and not any(name in needed for name in track.any_of):
            options = " or ".join(track.any_of)
            findings.error("missing-field", f"{track.label} ({track.name}) needs {options}")
        for name, exchanges in predictions.dialogues.items():
            for turn, exchange in enumerate(exchanges):
                for key in needed:
                    if getattr(exchange, key) is None:
                        message = f"the exchange has no {key}, which {track.name} needs"
                        findings.error("missing-field", message, dialogue=name, turn=turn, key=key)


def fields_needed(predictions: Predictions, track: Track) -> tuple[str, ...]:
    """Return the fields that every exchange must have: once one has it, all must."""
    given = {
        key
        for exchanges in predictions.dialogues.values()
        for exchange in exchanges
        for key in (*track.any_of, *track.optional)
        if getattr(exchange, key) is not None
    }
    return tuple(key for key in FIELDS if key in track.required or key in given)


def _check_conditioned(
    predictions: Predictions, tracks: Sequence[Track], conditioning: str | None, findings: Findings
) -> None:
    """Note states that were conditioned on gold acts, or where nothing says on what."""
    if DST in tracks and conditioning == GOLD_ACTS:
        findings.warning(
            "gold-acts",
            "states: predicted from the user's gold acts; compare only with trackers that read "
            "the same acts",
            key=META,
        )
    if DST in tracks and conditioning is None:
        message = (
            f"state tracking needs a conditioning, in {META} or --conditioning: "
            f"{', '.join(JOINT_NAMES)} — single-turn and full accuracy are different scores"
        )
        findings.error("missing-conditioning", message, key=META)


def _check_user_states(predictions: Predictions, fold: Fold, findings: Findings) -> None:
    """Note user states that are not about the goal of their dialogue."""
    for name, exchanges in predictions.dialogues.items():
        gold = fold.dialogues.get(name)
        if gold is None:
            continue
        wanted = [line[:3] for line in gold.goal]
        for turn, exchange in enumerate(exchanges):
            given: Sequence[tuple[object, ...]] = [line[:3] for line in exchange.user_state or ()]
            if exchange.user_state is not None and given != wanted:
                message = _difference(given, wanted)
                Place(findings, name, turn, "user_state").error("other-goal", message)


def _difference(given: Sequence[tuple[object, ...]], wanted: Sequence[tuple[object, ...]]) -> str:
    base = "a user state has the lines of the dialogue's goal, in its order"
    if len(given) != len(wanted):
        return f"{base}: {len(wanted)} lines, found {len(given)}"
    number, is_, should = next(
        (i, a, b) for i, (a, b) in enumerate(zip(given, wanted, strict=True)) if a != b
    )
    return (
        f"{base}: line {number} should be about {' '.join(map(str, should))}, "
        f"found {shorten(' '.join(map(str, is_)))}"
    )


def check_all(
    predictions: Predictions,
    fold: Fold,
    tracks: Sequence[Track],
    findings: Findings,
    *,
    conditioning: str | None,
    allow_partial: bool,
    other_folds: Mapping[str, frozenset[str]],
) -> None:
    """Note everything that keeps predictions from being scored against a fold in some `tracks`.

    What is wrong goes to `findings`. `conditioning` is what states were predicted from, None where
    nothing says it; with `allow_partial` dialogues of the `fold` may be missing; `other_folds` has
    the ids of folds that are at hand, to say where unknown ones come from.
    """
    _check_header(predictions.header, fold, findings)
    _check_conditioned(predictions, tracks, conditioning, findings)
    _check_fit(predictions, fold, findings, allow_partial=allow_partial, other_folds=other_folds)
    _check_fields(predictions, tracks, findings)
    if SIMULATOR in tracks:
        _check_user_states(predictions, fold, findings)


def covered(predictions: Predictions, fold: Fold) -> dict[str, dict[str, int]]:
    """Return how many dialogues and exchanges of the fold are predicted, as reports have it."""
    there = [name for name in fold.dialogues if name in predictions.dialogues]
    return {
        "dialogues": {"scored": len(there), "of": len(fold.dialogues)},
        "exchanges": {
            "scored": sum(len(fold.dialogues[name].exchanges) for name in there),
            "of": sum(len(dialogue.exchanges) for dialogue in fold.dialogues.values()),
        },
    }


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(f'"{shorten(name)}"' for name in names[:SHOWN_IDS])
    return f"{shown}, …" if len(names) > SHOWN_IDS else shown


SHOWN_SERVICES = 8


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
            some = ", ".join(sorted(known)[:SHOWN_SERVICES])
            message = (
                f'unknown service "{shorten(service)}"{did_you_mean(service, known)} (known: '
                f"{some}{', …' if len(known) > SHOWN_SERVICES else ''})"
            )
            place = Place(findings, name, turn, key)
            place.doubt("unknown-service", message, then=COUNTS_AS_WRONG)


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
    """Count values that are gold's but for their spelling, with the first place of each kind.

    `predictions` have the dialogues of the `fold`; only what the `tracks` score is looked at, and
    warnings go to `findings`.
    """
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
