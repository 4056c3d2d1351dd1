"""Predictions of baselines: gold data, a copy of the previous turn, rule-based systems, templates.

All baselines can be written as predictions files. The scores of gold data and of the copy baseline
are always shown next to the scores of a system.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from mwzeval.crosswoz import META, NAME
from mwzeval.crosswoz.corpus.dialogues import Dialogue, Exchange, State, empty_state, goal_to_json
from mwzeval.crosswoz.corpus.folds import Fold
from mwzeval.crosswoz.protocols import SYSTEM, USER, Nlg, Rng
from mwzeval.crosswoz.reading import Predicted
from mwzeval.crosswoz.systems.rules import RuleTracker
from mwzeval.crosswoz.systems.sl_policy import delexicalized
from mwzeval.crosswoz.systems.templates import Mode, TemplateNlg, load_templates
from mwzeval.crosswoz.tracks import (
    DST,
    GOLD_ACTS,
    GOLD_PREVIOUS_STATE,
    NLG,
    RESPONSE,
    SELECTED,
    STATE,
    SYSTEM_ACTS_DELEX,
    TRACKS,
    USER_ACTS,
    USER_RESPONSE,
    USER_STATE,
)
from mwzeval.crosswoz.user import RuleSimulator

GOLD, COPY_PREVIOUS, CEILING = "gold", "copy_previous", "ceiling"
REFERENCES = {
    GOLD: "gold as prediction",
    COPY_PREVIOUS: "copy of the previous turn",
    CEILING: "gold acts without values",
}
"""The baselines that are shown next to a system. The baseline `ceiling` (policies only) has the
gold acts with values from a database query with the gold state; a policy gets its values in the
same way."""


def gold_exchanges(dialogue: Dialogue) -> tuple[Predicted, ...]:
    """Return the gold data of a dialogue as predictions."""
    return tuple(
        Predicted(
            user_acts=exchange.user.acts,
            state=exchange.system.first_query,
            system_acts=exchange.system.acts,
            system_acts_nlu=exchange.system.acts,
            selected=exchange.system.last_selected,
            user_state=exchange.user.state,
            user_response=exchange.user.utterance,
            response=exchange.system.utterance,
        )
        for exchange in dialogue.exchanges
    )


def copied_exchanges(dialogue: Dialogue, *, own_states: bool = False) -> tuple[Predicted, ...]:
    """Return predictions that copy the gold data of the previous turn of the same side.

    The predictions for the first turn have no acts, texts or selected names. The predicted state is
    the gold state before the turn. With `own_states`, the predicted state is copied from the
    previous prediction and is therefore always empty.
    """
    nothing = Predicted(
        user_acts=(),
        state=empty_state(),
        system_acts=(),
        system_acts_nlu=(),
        selected={},
        user_state=tuple(line._replace(expressed=False) for line in dialogue.goal),
        user_response="",
        response="",
    )
    states = [exchange.system.last_query for exchange in dialogue.exchanges]
    copies = (
        replace(exchange, state=nothing.state if own_states else state)
        for exchange, state in zip(gold_exchanges(dialogue)[:-1], states, strict=False)
    )
    return (nothing, *copies)


def ceiling_exchanges(
    dialogue: Dialogue, *, vocabulary: Container[str] | None = None
) -> tuple[Predicted, ...]:
    """Return the gold system acts of a dialogue as predictions without values.

    Acts that are not in the `vocabulary` are left out, because no policy with this vocabulary can
    predict them.
    """
    turns = (delexicalized(exchange.system.acts) for exchange in dialogue.exchanges)
    return tuple(
        Predicted(system_acts_delex=tuple(a for a in acts if vocabulary is None or a in vocabulary))
        for acts in turns
    )


Exchanges = Callable[[Dialogue], Iterable[dict[str, Any]]]
"""A function that returns the fields of each exchange of a dialogue, without its number."""


def predictions_file(fold: Fold, track: str, exchanges: Exchanges, **meta: Any) -> dict[str, Any]:
    """Return the content of a predictions file for a fold; the header comes first."""
    header = {"dataset": NAME, "revision": fold.revision, "split": fold.name, "track": track}
    return {
        META: header | meta,
        **{
            name: [{"turn": turn, **plain} for turn, plain in enumerate(exchanges(dialogue))]
            for name, dialogue in fold.dialogues.items()
        },
    }


def rule_tracker_file(
    fold: Fold, conditioning: str = GOLD_PREVIOUS_STATE, *, source_in_turn: bool = False
) -> dict[str, Any]:
    """Return a predictions file with the states that RuleDST predicts from gold user acts.

    With the conditioning `gold_previous_state`, as in the paper, the tracker starts every turn from
    the gold state before the turn. With `gold_acts`, the tracker starts every turn from its own
    state. `RuleTracker` describes the option `source_in_turn`.
    """
    resets = conditioning == GOLD_PREVIOUS_STATE

    def exchanges(dialogue: Dialogue) -> Iterator[dict[str, Any]]:
        tracker = RuleTracker(source_in_turn=source_in_turn)
        before: State = empty_state()
        for exchange in dialogue.exchanges:
            if resets:
                tracker.state = {domain: dict(slots) for domain, slots in before.items()}
            tracker.update(exchange.user.acts)
            yield {STATE: sparse(tracker.state)}
            before = exchange.system.last_query

    name = "RuleDST" if resets else "RuleDST, no resets"
    conditioning = GOLD_PREVIOUS_STATE if resets else GOLD_ACTS
    return predictions_file(fold, "dst", exchanges, conditioning=conditioning, system=name)


def simulator_file(fold: Fold, seed: int | str = 0) -> dict[str, Any]:
    """Return the rule-based user's predictions; every turn starts from the previous gold state."""

    def exchanges(dialogue: Dialogue) -> Iterator[dict[str, Any]]:
        rng = Rng(f"{seed}/{dialogue.name}")
        previous: Exchange | None = None
        for exchange in dialogue.exchanges:
            user = RuleSimulator(dialogue.goal, rng)
            if previous is None:
                acts = user.begin()
            else:
                user.state = list(previous.user.state)
                acts = user.answer(previous.system.acts)
            yield {USER_ACTS: list(map(list, acts)), USER_STATE: goal_to_json(tuple(user.state))}
            previous = exchange

    return predictions_file(fold, "sim", exchanges, system="rule-based user", seed=seed)


def generated_file(
    fold: Fold, nlg: Nlg, system: str, seed: int | str = 0, **meta: Any
) -> dict[str, Any]:
    """Return a generator's texts for the gold acts of both sides, "" for acts without a text.

    `system` is the name of the text generator. The random choices of each dialogue depend on the
    seed and the dialogue.
    """

    def exchanges(dialogue: Dialogue) -> Iterator[dict[str, Any]]:
        rng = Rng(f"{seed}/{dialogue.name}")
        for exchange in dialogue.exchanges:
            user = nlg.say(exchange.user.acts, USER, rng)
            system = nlg.say(exchange.system.acts, SYSTEM, rng)
            yield {USER_RESPONSE: user or "", RESPONSE: system or ""}

    return predictions_file(fold, NLG.name, exchanges, system=system, seed=seed, **meta)


def gold_file(fold: Fold, track: str, keys: Sequence[str], **meta: Any) -> dict[str, Any]:
    """Return the gold data of a fold as predictions that have only the fields `keys`."""

    def exchanges(dialogue: Dialogue) -> Iterator[dict[str, Any]]:
        for plain in map(plain_exchange, gold_exchanges(dialogue)):
            yield {key: plain[key] for key in keys}

    return predictions_file(fold, track, exchanges, system=REFERENCES[GOLD], **meta)


BASELINES = (
    *("rule-dst", "rule-dst-full", "simulator", "template"),
    *("gold-nlu", "gold-dst", "gold-policy", "gold-nlg"),
)


def baseline_file(
    fold: Fold, name: str, seed: int = 0, *, templates: str | None = None, mode: Mode | None = None
) -> dict[str, Any]:
    """Return the predictions of a baseline, one of `BASELINES`, for a fold.

    `seed` determines the random choices of the user simulator and of the template generator.
    `templates` is the location of the template files, and `mode` selects the kind of templates.
    Raises `DataError` for invalid files.
    """
    if name == "template":
        mode = mode or "auto_manual"
        nlg = TemplateNlg(load_templates(templates), mode)
        return generated_file(fold, nlg, f"templates, {mode}", seed)
    if name.startswith("rule-dst"):
        return rule_tracker_file(fold, GOLD_PREVIOUS_STATE if name == "rule-dst" else GOLD_ACTS)
    if name == "simulator":
        return simulator_file(fold, seed)
    track = TRACKS[name.removeprefix("gold-")]
    conditioned = {"conditioning": GOLD_PREVIOUS_STATE} if track is DST else {}
    # A policy predicts acts with or without values; NLG predicts texts of one or both sides.
    some = track.any_of if track is NLG else track.any_of[:1]
    fields = (*track.required, *some, *track.optional)
    return gold_file(fold, track.name, fields, **conditioned)


def plain_exchange(predicted: Predicted) -> dict[str, Any]:
    """Return the prediction for an exchange in the form of predictions files."""
    plain: dict[str, Any] = {}
    for field in fields(predicted):
        value = getattr(predicted, field.name)
        if value is None:
            continue
        if field.name == STATE:
            value = sparse(value)
        elif field.name == SELECTED:
            value = {domain: list(names) for domain, names in value.items() if names}
        elif field.name == USER_STATE:
            value = goal_to_json(value)
        elif field.name != SYSTEM_ACTS_DELEX and not isinstance(value, str):
            value = [list(act) for act in value]
        plain[field.name] = value
    return plain


def sparse(state: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    """Return a state without empty slots and domains."""
    filled = {domain: {s: v for s, v in slots.items() if v} for domain, slots in state.items()}
    return {domain: slots for domain, slots in filled.items() if slots}
