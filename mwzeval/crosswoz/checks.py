"""Checks whether, and in which tracks, predictions can be scored; reports all problems together.

The problems include unknown and missing dialogues, dialogues of another length, missing fields,
unknown services, and values whose spelling differs from gold.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mwzeval.crosswoz import LEARNED_FROM, META
from mwzeval.crosswoz.corpus.acts import Act, parse_act
from mwzeval.crosswoz.corpus.folds import FOLDS, Fold, Gold
from mwzeval.crosswoz.corpus.names import HOTEL, SERVICES
from mwzeval.crosswoz.corpus.normalization import comparable, comparable_text
from mwzeval.crosswoz.reading import (
    COUNTS_AS_WRONG,
    Header,
    Predicted,
    Predictions,
    check_predictions,
    read_predictions,
)
from mwzeval.crosswoz.tracks import (
    DST,
    FIELDS,
    GOLD_ACTS,
    GOLD_PREVIOUS_STATE,
    JOINT_NAMES,
    NLU,
    POLICY,
    SIMULATOR,
    STATE,
    SYSTEM_ACTS,
    SYSTEM_ACTS_DELEX,
    SYSTEM_ACTS_NLU,
    TRACKS,
    USER_ACTS,
    USER_STATE,
    Track,
)
from mwzeval.errors import Problem, UsageError, did_you_mean, shorten, unknown
from mwzeval.libraries import no_garbage_collection
from mwzeval.scores.findings import Findings, Place

SHOWN_IDS = 5
"""The maximum number of ids in a message."""
SHOWN_SERVICES = 8
HALF_AND_FULL = "width (full or half), case or blanks"
UNFILLED = frozenset(
    {"none", "null", "nan", "n/a", "unknown", "not mentioned", "无", "未提及", "未知"}
)
"""Lower-case values with which some systems mark an empty slot; gold states do not contain these
values."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options for checking and scoring predictions.

    `tracks` and `conditioning` override the header of the file. With `lenient`, intents, domains
    and slots that do not exist count as wrong; otherwise, they are reported as errors.
    `allow_partial` accepts predictions without some dialogues of the fold, and interrupted
    simulations. With `strict`, every warning is an error. Raises `UsageError`.
    """

    tracks: tuple[str, ...] = ()
    conditioning: str | None = None
    lenient: bool = False
    allow_partial: bool = False
    strict: bool = False

    def __post_init__(self) -> None:
        if self.strict and self.lenient:
            raise UsageError("lenient scoring and strict checking cannot be combined: choose one")
        for name in self.tracks:
            if name not in TRACKS:
                raise UsageError(unknown("track", name, TRACKS))
        if self.conditioning not in (None, *JOINT_NAMES):
            raise UsageError(unknown("conditioning", str(self.conditioning), JOINT_NAMES))


DEFAULT_OPTIONS = Options()


@dataclass(frozen=True, slots=True, eq=False)
class CheckedPredictions:
    """Valid predictions, and the tracks in which they are scored."""

    gold: Gold
    predictions: Predictions
    tracks: tuple[Track, ...]
    conditioning: str | None
    warnings: tuple[Problem, ...]

    @property
    def units(self) -> tuple[str, ...]:
        """The dialogues that are scored, in the order of the fold."""
        there = self.predictions.dialogues
        return tuple(name for name in self.gold.fold.dialogues if name in there)


def check(
    predictions: Any, gold: Gold, options: Options, findings: Findings
) -> CheckedPredictions | None:
    """Return `predictions` (a file name, or a file's content) if they are valid, otherwise None.

    The predictions are compared with `gold` under the `options`, and problems are added to
    `findings`. Raises `InputError` if the file of predictions cannot be read.
    """
    if isinstance(predictions, str | Path):
        predictions = read_predictions(predictions)
    with no_garbage_collection():
        typed = check_predictions(predictions, findings)
        if not typed.dialogues:
            return None
        tracks = _tracks(options.tracks or typed.header.track, findings)
        conditioning = options.conditioning or typed.header.conditioning
        if conditioning not in (None, *JOINT_NAMES):
            message = unknown("conditioning", str(conditioning), JOINT_NAMES)
            findings.error("unknown-conditioning", message, key=META)
            conditioning = GOLD_PREVIOUS_STATE  # avoids a second error about the conditioning
        _check_header(typed.header, gold.fold, findings)
        if DST in tracks:
            _check_conditioning(conditioning, findings)
        _check_dialogues(typed, gold, findings, allow_partial=options.allow_partial)
        _check_fields(typed, tracks, findings)
        if SIMULATOR in tracks:
            _check_user_states(typed, gold.fold, findings)
        if not findings.errors:
            _check_services(typed, gold, findings)
        if findings.errors:
            return None
        findings.other_files(gold.corpus, gold.fold.checksum, gold.fold.other_files)
        _note_empty(typed, findings)
        _note_unfilled(typed, findings)
        _note_spelling(typed, gold.fold, tracks, findings)
    return CheckedPredictions(gold, typed, tracks, conditioning, tuple(findings.warnings))


def fields_needed(predictions: Predictions, track: Track) -> tuple[str, ...]:
    """Return the required fields, and the optional fields that at least one exchange has."""
    given = {
        key
        for _, _, exchange in _exchanges(predictions)
        for key in (*track.any_of, *track.optional)
        if getattr(exchange, key) is not None
    }
    return tuple(key for key in FIELDS if key in track.required or key in given)


def _exchanges(predictions: Predictions) -> Iterator[tuple[str, int, Predicted]]:
    for name, exchanges in predictions.dialogues.items():
        for turn, exchange in enumerate(exchanges):
            yield name, turn, exchange


def _tracks(names: Iterable[str], findings: Findings) -> tuple[Track, ...]:
    if not names:
        known = ", ".join(TRACKS)
        message = f"no track is given: name it in _meta or with --track ({known})"
        findings.error("missing-track", message)
    for name in names:
        if name not in TRACKS:
            findings.error("unknown-track", unknown("track", name, TRACKS))
    return tuple(dict.fromkeys(TRACKS[name] for name in names if name in TRACKS))


def _check_header(header: Header, fold: Fold, findings: Findings) -> None:
    """Report a header whose fold or revision differs from that of the gold data."""
    for what, named, scored in (
        ("revision", header.revision, fold.revision),
        ("split", header.split, fold.name),
    ):
        if named is not None and named != scored:
            message = f'{META} says {what} "{shorten(named)}", but "{scored}" is scored'
            if what == "split" and named not in FOLDS:
                message += f"{did_you_mean(named, FOLDS)} (known: {', '.join(FOLDS)})"
            findings.error(f"other-{what}", message, key=META)
    seen = header.more.get(LEARNED_FROM)
    if isinstance(seen, list) and fold.name in seen:
        message = (
            f"the system was trained on the {fold.name} fold, so its scores on this fold are too "
            "high"
        )
        findings.warning("seen-in-training", message, key=META)


def _check_conditioning(conditioning: str | None, findings: Findings) -> None:
    """Report states that were conditioned on gold acts, or whose conditioning is not stated."""
    if conditioning == GOLD_ACTS:
        findings.warning(
            "gold-acts",
            "states: predicted from the user's gold acts; compare only with trackers that use "
            "the same acts",
            key=META,
        )
    if conditioning is None:
        message = (
            f"state tracking needs a conditioning, in {META} or --conditioning: "
            f"{', '.join(JOINT_NAMES)} — single-turn and full accuracy are different scores"
        )
        findings.error("missing-conditioning", message, key=META)


def _check_dialogues(
    predictions: Predictions, gold: Gold, findings: Findings, *, allow_partial: bool
) -> None:
    """Report dialogues that are missing, unknown or of a different length than in the fold."""
    fold, dialogues = gold.fold, predictions.dialogues
    unknown_names = [name for name in dialogues if name not in fold.dialogues]
    are_all_unknown = len(unknown_names) == len(dialogues)
    where = f"the {fold.name} fold ({fold.revision})"
    if are_all_unknown:
        count = len(unknown_names)
        message = f"none of the {count} dialogues is in {where} ({_some(unknown_names)})"
        for other, ids in gold.other_folds.items():
            common = sum(name in ids for name in unknown_names)
            if common == count:
                message += f"; the ids are of {other}"
            elif common:
                message += f"; {common} of them are in the {other} fold"
        if "train" not in gold.other_folds and count > len(fold.dialogues):
            message += f"; the {fold.name} fold has {len(fold.dialogues)}: check the fold"
        findings.error("other-fold", message)
    for name in () if are_all_unknown else unknown_names:
        others = (f" but in {other}" for other, ids in gold.other_folds.items() if name in ids)
        hint = next(others, "") or did_you_mean(name, fold.dialogues)
        findings.error("unknown-dialogue", f"not in {where}{hint}", dialogue=name)
    for name, exchanges in dialogues.items():
        count = len(fold.dialogues[name].exchanges) if name in fold.dialogues else len(exchanges)
        if len(exchanges) != count:
            message = (
                f"expected {count} entries (one for each user turn and its system turn), found "
                f"{len(exchanges)}"
            )
            if len(exchanges) == 2 * count:
                message += ": write one entry for each pair of turns, not for each turn"
            findings.error("wrong-length", message, dialogue=name)
    missing = [name for name in fold.dialogues if name not in dialogues]
    if missing and not allow_partial and not are_all_unknown:
        message = (
            f"{len(missing)} of the {len(fold.dialogues)} dialogues of the fold are missing "
            f"({_some(missing)}); use --allow-partial to score a part"
        )
        findings.error("missing-dialogues", message)


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(f'"{shorten(name)}"' for name in names[:SHOWN_IDS])
    return f"{shown}, …" if len(names) > SHOWN_IDS else shown


def _check_fields(predictions: Predictions, tracks: Sequence[Track], findings: Findings) -> None:
    """Report exchanges that lack a required field of a track, each with its location."""
    for track in tracks:
        needed = fields_needed(predictions, track)
        if track.any_of and not any(name in needed for name in track.any_of):
            options = " or ".join(track.any_of)
            findings.error("missing-field", f"{track.label} ({track.name}) needs {options}")
        for name, turn, exchange in _exchanges(predictions):
            for key in needed:
                if getattr(exchange, key) is None:
                    message = f"the entry has no {key}, which {track.name} needs"
                    findings.error("missing-field", message, dialogue=name, turn=turn, key=key)


def _check_user_states(predictions: Predictions, fold: Fold, findings: Findings) -> None:
    """Report user states that do not match the goal of their dialogue."""
    for name, turn, exchange in _exchanges(predictions):
        if name not in fold.dialogues or exchange.user_state is None:
            continue
        goal = [line[:3] for line in fold.dialogues[name].goal]
        given = [line[:3] for line in exchange.user_state]
        if given == goal:
            continue
        message = "a user state must have the lines of the dialogue's goal, in the same order"
        if len(given) != len(goal):
            message += f": {len(goal)} lines, found {len(given)}"
        else:
            number = next(i for i, line in enumerate(given) if line != goal[i])
            message += (
                f": line {number} should be about {' '.join(map(str, goal[number]))}, "
                f"found {shorten(' '.join(map(str, given[number])))}"
            )
        Place(findings, name, turn, USER_STATE).error("other-goal", message)


def _check_services(predictions: Predictions, gold: Gold, findings: Findings) -> None:
    """Report acts about services that no hotel of the database and no gold act has.

    Like other slots that do not exist, such a service is an error; if lenient, the act is wrong.
    """
    named = [
        (name, turn, key, act.service)
        for name, turn, exchange in _exchanges(predictions)
        for key, act in _keyed_acts(exchange)
        if act.service is not None
    ]
    known = services_of(gold) if named else frozenset()
    for name, turn, key, service in named:
        if service not in known:
            some = ", ".join(sorted(known)[:SHOWN_SERVICES])
            message = (
                f'unknown service "{shorten(service)}"{did_you_mean(service, known)} (known: '
                f"{some}{', …' if len(known) > SHOWN_SERVICES else ''})"
            )
            place = Place(findings, name, turn, key)
            place.doubt("unknown-service", message, then=COUNTS_AS_WRONG)


def services_of(gold: Gold) -> frozenset[str]:
    """Return the hotel services that occur in the database or in gold acts."""
    listed = (hotel.record.get(SERVICES) or () for hotel in gold.database.entities(HOTEL))
    offered = {service for services in listed for service in services}
    mentions = {
        act.service
        for dialogue in gold.fold.dialogues.values()
        for exchange in dialogue.exchanges
        for act in (*exchange.user.acts, *exchange.system.acts)
    }
    return frozenset(service for service in (*offered, *mentions) if service)


def _keyed_acts(exchange: Predicted) -> Iterator[tuple[str, Act]]:
    for key in (USER_ACTS, SYSTEM_ACTS, SYSTEM_ACTS_NLU):
        for act in getattr(exchange, key) or ():
            yield key, act
    for spelling in exchange.system_acts_delex or ():
        yield SYSTEM_ACTS_DELEX, parse_act(spelling)


def _note_empty(predictions: Predictions, findings: Findings) -> None:
    """Warn about fields that are empty in every exchange."""
    exchanges = [exchange for _, _, exchange in _exchanges(predictions)]
    first = next((name for name, turns in predictions.dialogues.items() if turns), None)
    for key in (STATE, USER_ACTS, SYSTEM_ACTS, SYSTEM_ACTS_NLU):
        values = [getattr(exchange, key) for exchange in exchanges]
        if not values or any(value is None or _has_content(value) for value in values):
            continue
        if key == STATE:
            kind, message = (
                "empty-states",
                (
                    f"the states of all {len(values)} entries are empty: write the predicted "
                    'states, such as {"餐馆": {"评分": "4.5分以上"}}'
                ),
            )
        else:
            kind, message = (
                "empty-acts",
                (
                    f"{key} of all {len(values)} entries are empty: write the predicted acts, "
                    'such as ["Inform", "餐馆", "评分", "4.5分以上"]'
                ),
            )
        findings.warning(kind, message, dialogue=first, turn=0, key=key)


def _has_content(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(any(slots.values()) for slots in value.values())
    return bool(value)


def _note_unfilled(predictions: Predictions, findings: Findings) -> None:
    """Warn about values in states that mark an empty slot, such as `none`."""
    for name, turn, exchange in _exchanges(predictions):
        for domain, slots in (exchange.state or {}).items():
            for slot, value in slots.items():
                if value.strip().lower() in UNFILLED:
                    message = (
                        f'"{shorten(value)}" is scored as the value of a slot: leave out slots '
                        "that are not filled, or write an empty value"
                    )
                    place = Place(findings, name, turn, f"{STATE}.{domain}.{slot}")
                    place.warning("unfilled-value", message)


def _note_spelling(
    predictions: Predictions, fold: Fold, tracks: Sequence[Track], findings: Findings
) -> None:
    """Warn about values that differ from gold only in spelling; give the count and first place."""
    fields = []
    if NLU in tracks or SIMULATOR in tracks:
        fields.append((USER_ACTS, "user", SIMULATOR not in tracks))
    if NLU in tracks:
        fields.append((SYSTEM_ACTS_NLU, "system", True))
    if POLICY in tracks:
        fields.append((SYSTEM_ACTS, "system", False))
    for name, turn, predicted in _exchanges(predictions):
        exchange = fold.dialogues[name].exchanges[turn]
        for key, side, is_right in fields:
            acts, gold = getattr(predicted, key) or (), getattr(exchange, side).acts
            if count := _respelled(acts, gold):
                verdict = (
                    "these acts count as right" if is_right else "these acts count as wrong here"
                )
                message = f"some acts differ from the gold acts only in {HALF_AND_FULL}: {verdict}"
                place = Place(findings, name, turn, key)
                place.warning("other-spelling", message, count=count)
        if DST in tracks and predicted.state is not None:
            count = _respelled_values(predicted.state, exchange.system.first_query)
            message = (
                f"some state values differ from the gold values only in {HALF_AND_FULL}: they "
                "count as wrong, except for blanks in the normalized variants"
            )
            if count:
                Place(findings, name, turn, STATE).warning("other-spelling", message, count=count)


def _respelled(acts: Iterable[Act], gold: Iterable[Act]) -> int:
    gold_acts = set(gold)
    odd = [act for act in acts if act not in gold_acts]
    if not odd:
        return 0
    forms = {comparable(act) for act in gold_acts}
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
