"""What an input is made of, counted: enough for everything that is decided by, or said about, all
of it. Counts of parts add up, so an input may come in parts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from mwzeval.multiwoz.corpus.corpora import GoldFold
from mwzeval.multiwoz.corpus.references import References
from mwzeval.multiwoz.normalization.normalize import unknown_placeholders
from mwzeval.multiwoz.predictions.reading import Dialogues
from mwzeval.multiwoz.predictions.wording import Wording
from mwzeval.multiwoz.rollouts import Seen
from mwzeval.multiwoz.same_answers import Answers

DIFFERENT_PLACEHOLDERS = 2**12
"""Unknown placeholders told apart in a part of an input; no system means as many."""


@dataclass(slots=True)
class Census:
    """Counts of turns: with a predicted state, with a value in it, with active domains, with any
    domain among these, of dialogues that say what they book, by reference set those that have a
    reference, in `wording` those with placeholders and words, and in `answers` those alike.

    `seen` are the ids of the dialogues; `unknown_placeholders` are counted by name.
    """

    turns: int = 0
    with_state: int = 0
    with_values: int = 0
    with_domains: int = 0
    with_any_domain: int = 0
    with_bookings: int = 0
    wording: Wording = field(default_factory=Wording)
    answers: Answers = field(default_factory=Answers)
    references: Counter[str] = field(default_factory=Counter)
    unknown_placeholders: Counter[str] = field(default_factory=Counter)
    seen: Seen = field(default_factory=Seen)

    @classmethod
    def of(
        cls,
        dialogues: Dialogues,
        reference_sets: Mapping[str, References],
        gold: GoldFold,
    ) -> Census:
        """Count checked dialogues of a fold."""
        census = cls(references=Counter(dict.fromkeys(reference_sets, 0)))
        for name, turns in dialogues.items():
            census.seen.add(name)
            dialogue = gold.name_of(name)
            said = [turn.response or "" for turn in turns]
            census.answers.add(said, gold.dialogues.get(dialogue))
            for reference_set, references in reference_sets.items():
                there = len(references.responses.get(dialogue, ()))
                census.references[reference_set] += min(len(turns), there)
        responses: Counter[str] = Counter()
        for turns in dialogues.values():
            census.turns += len(turns)
            if any(turn.bookings is not None for turn in turns):
                census.with_bookings += len(turns)
            for turn in turns:
                census.with_state += turn.state is not None
                census.with_values += any((turn.state or {}).values())
                census.with_domains += turn.active_domains is not None
                census.with_any_domain += bool(turn.active_domains)
                responses[turn.response or ""] += 1
        for response, times in responses.items():
            census.wording.add(response, times)
            if "[" in response:
                for name in unknown_placeholders(response):
                    census.unknown_placeholders[name] += times
        return census

    def merge(self, later: Census) -> None:
        """Add the counts of another part."""
        self.turns += later.turns
        self.with_state += later.with_state
        self.with_values += later.with_values
        self.with_domains += later.with_domains
        self.with_any_domain += later.with_any_domain
        self.with_bookings += later.with_bookings
        self.wording.merge(later.wording)
        self.answers.merge(later.answers)
        # Not `+`, which drops what is counted 0 times.
        self.references.update(later.references)
        for name, times in later.unknown_placeholders.items():
            known = name in self.unknown_placeholders
            if known or len(self.unknown_placeholders) < DIFFERENT_PLACEHOLDERS:
                self.unknown_placeholders[name] += times
        self.seen.merge(later.seen)
