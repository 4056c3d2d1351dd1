"""From checked predictions to rows: everything that one dialogue contributes to the scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mwzeval.metrics.bleu import Bleu, prepare, prepare_tokenized
from mwzeval.metrics.goal_success import DialogueOutcome, DomainGoal, GoalSuccess, judge
from mwzeval.metrics.state_tracking import StateTracking
from mwzeval.multiwoz.active_domains import estimate_active_domains
from mwzeval.multiwoz.choices import Rules
from mwzeval.multiwoz.corpus import GoldFold
from mwzeval.multiwoz.database import Database
from mwzeval.multiwoz.fuzzy import partial_ratio
from mwzeval.multiwoz.gold import ALL_DOMAINS
from mwzeval.multiwoz.inform_success import NormalizedTurn, dialogue_acts, prepare_goal
from mwzeval.multiwoz.moses import natural_spacing
from mwzeval.multiwoz.normalization import State, canonical_response, normalize_states
from mwzeval.multiwoz.predictions import Turn
from mwzeval.multiwoz.references import References

DST_THRESHOLD = 95
"""Two state values agree when their `partial_ratio` is above this."""


@dataclass(frozen=True, slots=True)
class Sources:
    """Where states and active domains come from, for all dialogues of an input alike."""

    predicted_states: bool
    predicted_domains: bool

    @classmethod
    def of(cls, dialogues: Iterable[Sequence[Turn]]) -> Sources:
        """Use what is predicted only where no turn of the input lacks it."""
        turns = [turn for dialogue in dialogues for turn in dialogue]
        return cls(
            predicted_states=all(turn.state is not None for turn in turns),
            predicted_domains=all(turn.active_domains is not None for turn in turns),
        )


@dataclass(frozen=True, slots=True)
class NormalizedDialogue:
    """A predicted dialogue in the one spelling that all scorers consume."""

    name: str
    turns: tuple[NormalizedTurn, ...]

    @property
    def responses(self) -> list[str]:
        """The responses with natural spacing, as BLEU and richness see them."""
        return [natural_spacing(turn.response) for turn in self.turns]


def values_agree(predicted: str, gold: str) -> bool:
    """Tell whether two state values count as the same."""
    return predicted == gold or partial_ratio(predicted, gold) > DST_THRESHOLD


class Scorer:
    """Scores dialogues of one fold under one rule set; gold data are prepared once, when needed.

    What it remembers only saves time, so threads may share it and copies may be pickled.
    """

    def __init__(
        self,
        gold: GoldFold,
        rules: Rules,
        reference_sets: Mapping[str, References],
    ) -> None:
        self.gold = gold
        self.rules = rules
        self.reference_sets = reference_sets
        self.database = Database(gold.tables, rules)
        self.goal_success = GoalSuccess(ALL_DOMAINS)
        self.state_tracking = StateTracking(values_agree)
        self.bleus = {name: Bleu(name) for name in reference_sets}
        self._goals: dict[str, dict[str, DomainGoal]] = {}
        self._gold_states: dict[str, tuple[State, ...]] = {}

    def normalize(self, name: str, turns: Sequence[Turn], sources: Sources) -> NormalizedDialogue:
        """Return a checked dialogue in normal form, gold data filled in as `sources` say."""
        states: Sequence[State] = (
            normalize_states((turn.state or {} for turn in turns), self.rules)
            if sources.predicted_states
            else self.gold_states(name)[: len(turns)]
        )
        domains: Sequence[tuple[str, ...]] = (
            [turn.active_domains or () for turn in turns]
            if sources.predicted_domains
            else estimate_active_domains(states)
        )
        return NormalizedDialogue(
            name,
            tuple(
                NormalizedTurn(canonical_response(turn.response or ""), state, active)
                for turn, state, active in zip(turns, states, domains, strict=True)
            ),
        )

    def gold_states(self, name: str) -> tuple[State, ...]:
        """Return the annotated states of a dialogue, normalised."""
        states = self._gold_states.get(name)
        if states is None:
            annotated = self.gold.dialogues[name].states
            states = tuple(normalize_states(annotated, self.rules))
            self._gold_states[name] = states
        return states

    def goal(self, name: str) -> dict[str, DomainGoal]:
        """Return what the user of a dialogue wants, with the satisfying venues looked up."""
        goal = self._goals.get(name)
        if goal is None:
            goal = prepare_goal(self.gold.dialogues[name].goal, self.database)
            self._goals[name] = goal
        return goal

    def outcome(self, dialogue: NormalizedDialogue) -> DialogueOutcome:
        """Return Inform and Success of one dialogue."""
        goal = self.goal(dialogue.name)
        booked = self.gold.dialogues[dialogue.name].booked
        return judge(goal, dialogue_acts(goal, dialogue.turns, booked, self.database))

    def state_row(self, dialogue: NormalizedDialogue) -> dict[str, float]:
        """Return the state tracking counts of one dialogue."""
        gold = self.gold_states(dialogue.name)
        return self.state_tracking.row(
            (_flat(turn.state), _flat(state))
            for turn, state in zip(dialogue.turns, gold, strict=False)
        )

    def bleu_row(self, dialogue: NormalizedDialogue, responses: Sequence[str]) -> dict[str, float]:
        """Return the BLEU statistics of one dialogue, of the turns that a reference set has."""
        hypotheses = [prepare(response) for response in responses]
        row: dict[str, float] = {}
        for name, bleu in self.bleus.items():
            texts = self.reference_sets[name].responses.get(dialogue.name, ())[: len(hypotheses)]
            references = [prepare_tokenized(text) for text in texts]
            row.update(bleu.row(hypotheses[: len(references)], references))
        return row


def _flat(state: State) -> dict[tuple[str, str], str]:
    return {
        (domain, slot): value for domain, slots in state.items() for slot, value in slots.items()
    }
