"""Compute rows of counts from checked predictions: one row contains the counts of one dialogue."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType

from mwzeval.multiwoz import AUTO, DELEXICALIZED, LEXICALIZED, Responses, Rules
from mwzeval.multiwoz.census import IDENTIFYING_SLOTS, Census, Wording
from mwzeval.multiwoz.corpus import GoldFold, References
from mwzeval.multiwoz.database import Database
from mwzeval.multiwoz.grounding.bookings import (
    Booked,
    bookable,
    booked_in_state,
    booking_errors,
    has_bookings,
    last_bookings,
)
from mwzeval.multiwoz.grounding.claims import (
    Grounded,
    SystemTurn,
    claims_of,
    compare_with_database,
    with_named_venues,
)
from mwzeval.multiwoz.grounding.log import compare_with_log
from mwzeval.multiwoz.grounding.scores import Words, booking_row, grounded_row
from mwzeval.multiwoz.normalization import State, estimate_active_domains, normalize_states
from mwzeval.multiwoz.placeholders import canonical_response, natural_spacing
from mwzeval.multiwoz.predictions import FunctionCall, Turn
from mwzeval.multiwoz.scoring.bleu import Bleu
from mwzeval.multiwoz.scoring.goal_success import (
    DialogueOutcome,
    DomainGoal,
    DomainTurn,
    NormalizedTurn,
    dialogue_acts,
    judge,
    prepare_goal,
)
from mwzeval.multiwoz.scoring.reward import (
    GroundedReward,
    MentionCounts,
    Reward,
    RewardWeights,
    reward,
)
from mwzeval.multiwoz.tracking import Agree, Convention, JointGoals, States, any_similar, dst_row
from mwzeval.multiwoz.words.delexicalize import Delexicalizer
from mwzeval.multiwoz.words.names import with_unknown_names
from mwzeval.multiwoz.words.text import Delexicalized, Mention


@dataclass(frozen=True, slots=True)
class Metrics:
    """The metrics that an evaluation computes."""

    bleu: bool = False
    success: bool = False
    richness: bool = False
    dst: bool = False
    dst_rules: tuple[Convention, ...] = ()
    grounded: bool = False

    @property
    def tracking(self) -> bool:
        """Whether state tracking is scored, under any rule."""
        return self.dst or bool(self.dst_rules)

    @property
    def need_responses(self) -> bool:
        """Whether any selected metric needs responses; state tracking does not need them."""
        return not self.tracking or replace(self, dst=False, dst_rules=()) != Metrics()


@dataclass(frozen=True, slots=True)
class Sources:
    """The sources of states and active domains, the same for all dialogues of an input.

    Predicted states or domains are used only if all turns of the input have them. If `lexicalized`
    is true, responses are delexicalized before they are scored.
    """

    predicted_states: bool
    predicted_domains: bool
    lexicalized: bool = False

    @classmethod
    def of_census(cls, census: Census, responses: Responses = AUTO) -> Sources:
        """Return the sources for an input, given its counts and the declared kind of responses."""
        is_auto = responses == AUTO
        return cls(
            predicted_states=census.with_state == census.turns,
            predicted_domains=census.with_domains == census.turns,
            lexicalized=census.wording.lexicalized if is_auto else responses == LEXICALIZED,
        )

    @property
    def kind(self) -> Responses:
        """The kind of responses that is assumed for the whole input."""
        return LEXICALIZED if self.lexicalized else DELEXICALIZED


@dataclass(frozen=True, slots=True)
class NormalizedDialogue:
    """A predicted dialogue in the normal form that all scorers use.

    `mentions` are the mentions in each lexicalized response, or None if responses are
    delexicalized. The positions of mentions refer to the original responses (`words`). `calls` are
    the tool calls of each turn and their results.
    """

    name: str
    turns: tuple[NormalizedTurn, ...]
    mentions: tuple[tuple[Mention, ...], ...] | None = None
    words: tuple[str, ...] = ()
    calls: tuple[tuple[FunctionCall, ...], ...] = ()

    @property
    def responses(self) -> list[str]:
        """The responses with natural spacing, as needed for BLEU and richness."""
        return [natural_spacing(turn.response) for turn in self.turns]


class Scorer:
    """Scores dialogues of one fold under one rule set, and prepares gold data once, when needed.

    `unfilled` are the values that were removed from the states, and `tools` is the checksum of the
    table by which calls were interpreted. Signatures contain `unfilled` and `tools`. The caches of
    a scorer do not affect results, so a scorer can be shared by threads and pickled.
    """

    def __init__(
        self,
        gold: GoldFold,
        rules: Rules,
        metrics: Metrics = Metrics(),
        reference_sets: Mapping[str, References] = MappingProxyType({}),
        responses: Responses = AUTO,
        unfilled: Sequence[str] = (),
        tools: str | None = None,
    ) -> None:
        self.gold = gold
        self.rules = rules
        self.metrics = metrics
        self.responses = responses
        self.unfilled = tuple(unfilled)
        self.tools = tools
        self.reference_sets = reference_sets
        self.database = Database(gold.tables, rules)
        self.joint_goals = tuple(JointGoals(rule, rules) for rule in metrics.dst_rules)
        self.bleus = {
            name: Bleu(name, references.responses) for name, references in reference_sets.items()
        }
        self._goals: dict[str, dict[str, DomainGoal]] = {}
        self._gold_states: dict[str, tuple[State, ...]] = {}

    @cached_property
    def delexicalizer(self) -> Delexicalizer:
        """The delexicalizer with the database of this fold."""
        return Delexicalizer(self.gold.tables)

    def sources_alone(self, name: str, turns: Sequence[Turn]) -> Sources:
        """Return the sources for a checked dialogue that is scored alone.

        Names in the database also count as evidence for lexicalized responses. Without names, a
        single placeholder could decide whether a short dialogue counts as delexicalized.
        """
        sources = Sources(
            all(turn.state is not None for turn in turns),
            all(turn.active_domains is not None for turn in turns),
            self.responses == LEXICALIZED,
        )
        if self.responses != AUTO:
            return sources
        responses = [turn.response or "" for turn in turns]
        wording = Wording.of(responses)
        if not wording.lexicalized:
            found = self.delexicalizer.mentions(responses, *self._situation(name, turns, sources))
            # Turns are read until it is certain whether names or placeholders are more frequent.
            missing, left = wording.with_placeholder, len(turns)
            while 0 < missing <= left:
                missing -= any(mention.slot in IDENTIFYING_SLOTS for mention in next(found))
                left -= 1
            if missing > 0:
                return sources
        return replace(sources, lexicalized=True)

    def normalize(self, name: str, turns: Sequence[Turn], sources: Sources) -> NormalizedDialogue:
        """Normalize a checked dialogue; `sources` specifies which gold data are used."""
        states, domains = self._situation(name, turns, sources)
        words = responses = [turn.response or "" for turn in turns]
        mentions = None
        if sources.lexicalized and any(responses):
            found = self.delexicalizer.dialogue(responses, states, domains)
            responses = [turn.response for turn in found]
            mentions = tuple(turn.mentions for turn in found)
        return NormalizedDialogue(
            self.gold.name_of(name),
            tuple(
                NormalizedTurn(canonical_response(response), state, active)
                for response, state, active in zip(responses, states, domains, strict=True)
            ),
            mentions,
            tuple(words),
            tuple(turn.calls for turn in turns),
        )

    def delexicalized(
        self, name: str, turns: Sequence[Turn], sources: Sources
    ) -> list[Delexicalized]:
        """Return the responses of a checked dialogue, with placeholders in place of mentions."""
        states, domains = self._situation(name, turns, sources)
        return self.delexicalizer.dialogue([turn.response or "" for turn in turns], states, domains)

    def _situation(
        self, name: str, turns: Sequence[Turn], sources: Sources
    ) -> tuple[Sequence[State], Sequence[tuple[str, ...]]]:
        """Return the normalized states and the active domains of a dialogue's turns."""
        states: Sequence[State]
        if sources.predicted_states:
            states = normalize_states((turn.state or {} for turn in turns), self.rules)
        else:
            states = self.gold_states(self.gold.name_of(name))[: len(turns)]
        if sources.predicted_domains:
            return states, [turn.active_domains or () for turn in turns]
        return states, estimate_active_domains(states)

    def gold_states(self, name: str) -> tuple[State, ...]:
        """Return the annotated states of a dialogue, normalized."""
        if name not in self._gold_states:
            annotated = self.gold.dialogues[name].states
            self._gold_states[name] = tuple(normalize_states(annotated, self.rules))
        return self._gold_states[name]

    def tracked(self, name: str, turns: Sequence[Turn]) -> tuple[str, Agree, States]:
        """Return the name of the joint goal accuracy score, a function that compares values, and
        the states.

        The states are those of the first selected tracking rule, by default the rule of `--dst`.
        """
        if self.joint_goals:
            rule = self.joint_goals[0]
            states = rule.states(name, self.gold.dialogues[name], turns)
            return f"{rule.prefix}.joint_goal_accuracy", rule.agree, states
        predicted = normalize_states((turn.state or {} for turn in turns), self.rules)
        gold = (
            {d: {slot: (value,) for slot, value in slots.items()} for d, slots in state.items()}
            for state in self.gold_states(name)
        )
        return "dst.joint_accuracy", any_similar, zip(predicted, gold, strict=False)

    def goal(self, name: str) -> dict[str, DomainGoal]:
        """Return the goal of a dialogue, including the venues that satisfy the goal."""
        if name not in self._goals:
            self._goals[name] = prepare_goal(self.gold.dialogues[name].goal, self.database)
        return self._goals[name]

    def outcome(self, dialogue: NormalizedDialogue) -> DialogueOutcome:
        """Return the Inform and Success outcome of one dialogue."""
        return judge(self.goal(dialogue.name), self._acts(dialogue))

    def reward(self, dialogue: NormalizedDialogue, weights: RewardWeights) -> Reward:
        """Return the reward of one dialogue, or of its first turns.

        Grounded scores can have weights only if responses are lexicalized.
        """
        grounded_reward = None
        if weights.grounded:
            grounded = self.grounded(dialogue)
            mentions: list[list[tuple[bool, bool | None]]] = [[] for _ in dialogue.turns]
            for checked in grounded.checked:
                mentions[checked.turn].append((bool(checked.known), checked.agrees))
            counts = tuple(map(MentionCounts.of, mentions))
            grounded_reward = GroundedReward(grounded.outcome, counts)
        return reward(self.goal(dialogue.name), self._acts(dialogue), weights, grounded_reward)

    def _acts(self, dialogue: NormalizedDialogue) -> Iterator[dict[str, DomainTurn]]:
        booked = self.gold.dialogues[dialogue.name].booked
        return dialogue_acts(self.goal(dialogue.name), dialogue.turns, booked, self.database)

    def state_row(self, dialogue: NormalizedDialogue) -> dict[str, float]:
        """Return the state tracking counts of one dialogue."""
        states = (turn.state for turn in dialogue.turns)
        return dst_row(zip(states, self.gold_states(dialogue.name), strict=False))

    def grounded(self, dialogue: NormalizedDialogue) -> Grounded:
        """Return the mentions of lexicalized responses, compared with the database and the goal."""
        gazetteer = self.delexicalizer.gazetteer
        turns = [
            SystemTurn(
                words,
                turn.state,
                # These also include names that are not in the database.
                with_unknown_names(words, mentions, turn.active_domains, gazetteer),
                booked,
                calls,
            )
            for words, turn, mentions, booked, calls in zip(
                dialogue.words,
                dialogue.turns,
                dialogue.mentions or ((),) * len(dialogue.turns),
                self.gold.dialogues[dialogue.name].booked,
                dialogue.calls,
                strict=False,
            )
        ]
        return compare_with_database(self._grounded_goal(dialogue.name), turns, self.database)

    def words(self, dialogue: NormalizedDialogue) -> Words:
        """Return the lexicalized responses of a dialogue, with their judged mentions."""
        grounded = self.grounded(dialogue)
        log = compare_with_log(grounded, self.database)
        goal = self.gold.dialogues[dialogue.name].goal
        return Words(
            grounded=grounded,
            database=self.database,
            constraints={domain: part.informable for domain, part in goal.items()},
            claims=claims_of(grounded, log, self.database.facts),
        )

    def _grounded_goal(self, name: str) -> dict[str, DomainGoal]:
        """Return the goal of a dialogue; a named venue must have exactly the name in the goal."""
        goals = self.gold.dialogues[name].goal
        return with_named_venues(self.goal(name), goals, self.database.facts)

    def grounded_row(
        self, dialogue: NormalizedDialogue, turns: Sequence[Turn], sources: Sources
    ) -> dict[str, float]:
        """Return the counts of one dialogue for the grounded scores that can be computed.

        `turns` are the predicted turns, which contain the bookings.
        """
        row: dict[str, float] = {}
        if sources.lexicalized:
            grounded = self.grounded(dialogue)
            row = grounded_row(grounded, compare_with_log(grounded, self.database))
        goal = self.gold.dialogues[dialogue.name].goal
        right: dict[str, bool] = {}
        by_calls = has_bookings(turns)
        if domains := bookable(goal):
            booked: Mapping[str, Booked] = {}
            if by_calls:
                bookings = (booking for turn in turns for booking in turn.bookings or ())
                booked = last_bookings(bookings, self.database)
            elif sources.predicted_states:
                booked = booked_in_state(dialogue.turns[-1].state, self.database)
            domain_goals = self._grounded_goal(dialogue.name)
            for name in domains:
                made, satisfying = booked.get(name), domain_goals[name].satisfying
                right[name] = made is not None and not booking_errors(
                    name, goal[name], satisfying, made, self.rules
                )
        return {**row, **booking_row(right, by_calls=by_calls)}
