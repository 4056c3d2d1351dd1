"""Can these predictions be scored, and for what? Everything that keeps them from it, at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mwzeval.crosswoz.corpus.dialogues import State
from mwzeval.crosswoz.corpus.folds import Gold
from mwzeval.crosswoz.predictions.fit import check_all, check_services, note_spelling
from mwzeval.crosswoz.predictions.reading import Predictions, check_predictions, read_predictions
from mwzeval.crosswoz.predictions.tracks import (
    GOLD_PREVIOUS_STATE,
    STATE,
    SYSTEM_ACTS,
    SYSTEM_ACTS_NLU,
    TRACKS,
    USER_ACTS,
    Track,
    check_conditioning,
    track_named,
    unknown_conditioning,
)
from mwzeval.crosswoz.scoring.track_scores import AnyScores, scores_of
from mwzeval.errors import Problem, UsageError, shorten, unknown
from mwzeval.libraries import no_garbage_collection
from mwzeval.scores.findings import Findings


@dataclass(frozen=True, slots=True)
class Options:
    """How predictions are checked and scored.

    `tracks` and `conditioning` take the place of what the file says of itself. With `lenient`,
    intents, domains and slots that do not exist count as wrong; otherwise they are errors.
    `allow_partial` scores predictions that lack dialogues of the fold, and simulations that were
    cut short. With `strict` every warning is an error. Raises `UsageError`.
    """

    tracks: tuple[str, ...] = ()
    conditioning: str | None = None
    lenient: bool = False
    allow_partial: bool = False
    strict: bool = False

    def __post_init__(self) -> None:
        if self.strict and self.lenient:
            raise UsageError("what is scored leniently gets warnings, and strictly none: choose")
        for name in self.tracks:
            track_named(name)
        if self.conditioning is not None:
            check_conditioning(self.conditioning)


DEFAULT_OPTIONS = Options()


@dataclass(frozen=True, slots=True, eq=False)
class CheckedPredictions:
    """Predictions that can be scored: in which tracks, and by what."""

    gold: Gold
    predictions: Predictions
    tracks: tuple[Track, ...]
    scores: tuple[AnyScores, ...]
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
    """Return `predictions` (a file's name, or its content) that can be scored, None if they cannot.

    They are held against `gold`, as the `options` say; problems go to `findings`. Raises
    `InputError` when a file cannot be read at all.
    """
    if isinstance(predictions, str | Path):
        predictions = read_predictions(predictions)
    with no_garbage_collection():
        typed = check_predictions(predictions, findings)
        if not typed.dialogues:
            return None
        tracks = _tracks(typed, options, findings)
        conditioning = _conditioning(typed, options, findings)
        check_all(
            typed,
            gold.fold,
            tracks,
            findings,
            conditioning=conditioning,
            allow_partial=options.allow_partial,
            other_folds=gold.other_folds,
        )
        if findings.errors:
            return None
        check_services(typed, gold, findings)
        if findings.errors:
            return None
        findings.other_files(gold.corpus, gold.fold.checksum, gold.fold.other_files)
        _note_empty(typed, findings)
        _note_unfilled(typed, findings)
        note_spelling(typed, gold.fold, tracks, findings)
    scores = tuple(scores_of(track, typed, gold, conditioning) for track in tracks)
    return CheckedPredictions(gold, typed, tracks, scores, conditioning, tuple(findings.warnings))


def _note_empty(predictions: Predictions, findings: Findings) -> None:
    """Warn about what is predicted for every exchange, and is empty in all of them."""
    exchanges = [exchange for of in predictions.dialogues.values() for exchange in of]
    first = next((name for name, of in predictions.dialogues.items() if of), None)
    states = [exchange.state for exchange in exchanges]
    if states and not any(state is None or any(map(any, _values(state))) for state in states):
        message = (
            f"the states of all {len(states)} exchanges are empty: unless the system never tracks "
            'anything, write what it has, as {"餐馆": {"评分": "4.5分以上"}}'
        )
        findings.warning("empty-states", message, dialogue=first, turn=0, key=STATE)
    for key in (USER_ACTS, SYSTEM_ACTS, SYSTEM_ACTS_NLU):
        acts = [getattr(exchange, key) for exchange in exchanges]
        if acts and not any(of is None or len(of) for of in acts):
            message = (
                f"{key} of all {len(acts)} exchanges are empty: unless there are never any acts, "
                'write them, as ["Inform", "餐馆", "评分", "4.5分以上"]'
            )
            findings.warning("empty-acts", message, dialogue=first, turn=0, key=key)


UNFILLED = frozenset(
    {"none", "null", "nan", "n/a", "unknown", "not mentioned", "无", "未提及", "未知"}
)
"""What systems write for a slot that is not filled, in lower case; no gold state has them."""


def _note_unfilled(predictions: Predictions, findings: Findings) -> None:
    """Warn about values of states that say that a slot is not filled."""
    for dialogue, exchanges in predictions.dialogues.items():
        for turn, exchange in enumerate(exchanges):
            for domain, slots in (exchange.state or {}).items():
                for slot, value in slots.items():
                    if value.strip().lower() in UNFILLED:
                        message = (
                            f'"{shorten(value)}" is scored as the value of a slot: leave out slots '
                            "that are not filled, or leave them empty"
                        )
                        key = f"{STATE}.{domain}.{slot}"
                        findings.warning(
                            "unfilled-value", message, dialogue=dialogue, turn=turn, key=key
                        )


def _values(state: State) -> Iterator[Iterable[str]]:
    return (slots.values() for slots in state.values())


def _tracks(predictions: Predictions, options: Options, findings: Findings) -> tuple[Track, ...]:
    names = options.tracks or predictions.header.track
    known = ", ".join(TRACKS)
    if not names:
        message = f"nothing says what to score: name a track in _meta or by --track ({known})"
        findings.error("missing-track", message)
    tracks = []
    for name in names:
        if name in TRACKS:
            tracks.append(TRACKS[name])
        else:
            findings.error("unknown-track", unknown("track", name, TRACKS))
    return tuple(dict.fromkeys(tracks))


def _conditioning(predictions: Predictions, options: Options, findings: Findings) -> str | None:
    named = options.conditioning or predictions.header.conditioning
    if named is None:
        return None
    try:
        return check_conditioning(named)
    except UsageError:
        findings.error("unknown-conditioning", unknown_conditioning(named), key="_meta")
        # Not missing as well.
        return GOLD_PREVIOUS_STATE
