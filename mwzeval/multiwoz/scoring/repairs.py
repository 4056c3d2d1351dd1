"""What the scorer judges, and small pure changes of it that repair what was lost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from mwzeval.multiwoz.database.venues import Database
from mwzeval.multiwoz.normalization.normalize import State
from mwzeval.multiwoz.scoring.goal_success import (
    DialogueOutcome,
    DomainGoal,
    DomainTurn,
    NeedsOffer,
    NormalizedTurn,
    dialogue_acts,
    found_by,
    judge,
    offer_after,
)
from mwzeval.multiwoz.scoring.scorer import NormalizedDialogue, Scorer

Changes = Mapping[str, str | None]
"""Slot → its new value, None to take it away."""


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """What the scorer judges: the turns of a dialogue, and what they are judged by.

    `constraints` are the informable slots of each domain of the goal; `booked` are the domains
    booked by each turn, `annotated` its gold state; `in_words` where responses came in words.
    """

    goal: Mapping[str, DomainGoal]
    constraints: Mapping[str, Mapping[str, str]]
    turns: tuple[NormalizedTurn, ...]
    booked: tuple[frozenset[str], ...]
    annotated: tuple[State, ...]
    database: Database
    in_words: bool = False

    @classmethod
    def of(cls, scorer: Scorer, dialogue: NormalizedDialogue) -> Case:
        """Return the case of a dialogue."""
        gold = scorer.gold.dialogues[dialogue.name]
        constraints = {domain: wanted.informable for domain, wanted in gold.goal.items()}
        return cls(
            goal=scorer.goal(dialogue.name),
            constraints=constraints,
            turns=dialogue.turns,
            booked=gold.booked,
            annotated=scorer.gold_states(dialogue.name),
            database=scorer.database,
            in_words=dialogue.mentions is not None,
        )

    def acts(self) -> Iterator[dict[str, DomainTurn]]:
        """Yield what each turn does in the active domains of the goal."""
        return dialogue_acts(self.goal, self.turns, self.booked, self.database)

    def outcome(self) -> DialogueOutcome:
        """Return Inform and Success."""
        return judge(self.goal, self.acts())

    def alone(self, domain: str) -> Case:
        """Return the case of a user who wants nothing but this domain's part."""
        return replace(self, goal={domain: self.goal[domain]})

    def offered(self, domain: str) -> tuple[str, ...]:
        """Return the venues that are on offer in the end."""
        venues: tuple[str, ...] = ()
        for turn in self.turns:
            if domain in turn.active_domains:
                venues = offer_after(venues, found_by(domain, turn, self.database))
        return venues

    def offers_right(self, domain: str) -> bool:
        """Tell whether venues are on offer in the end, and all of them satisfy the goal.

        Inform of a train can be won as well by offering none, which puts nothing right.
        """
        offered = self.offered(domain)
        return bool(offered) and self.goal[domain].is_matched(offered)

    def edited(
        self, turns: Iterable[int], edit: Callable[[NormalizedTurn], NormalizedTurn]
    ) -> Case:
        """Return the case with some turns changed."""
        chosen = frozenset(turns)
        changed = (edit(turn) if i in chosen else turn for i, turn in enumerate(self.turns))
        return replace(self, turns=tuple(changed))


Repair = Callable[[Case], Case]


def say(case: Case, turn: int, placeholder: str) -> Case:
    """Let a turn contain a placeholder."""

    def edit(old: NormalizedTurn) -> NormalizedTurn:
        return old._replace(response=f"{old.response} {placeholder}")

    return case.edited([turn], edit)


def activate(case: Case, turn: int, domain: str) -> Case:
    """Let a turn be about a domain, too."""

    def edit(old: NormalizedTurn) -> NormalizedTurn:
        return old._replace(active_domains=(*old.active_domains, domain))

    return case.edited([turn], edit)


def constrain(case: Case, since: int, domain: str, changes: Changes) -> Case:
    """Change slots from a turn on, wherever the state has the domain, and in that turn anyway."""

    def edit(old: NormalizedTurn) -> NormalizedTurn:
        slots = {**old.state.get(domain, {}), **changes}
        kept = {slot: value for slot, value in slots.items() if value is not None}
        return old._replace(state={**old.state, domain: kept})

    later = range(since, len(case.turns))
    return case.edited((i for i in later if i == since or domain in case.turns[i].state), edit)


def book(case: Case, turn: int, domain: str) -> Case:
    """Let a domain be booked by a turn."""
    booked = list(case.booked)
    booked[turn] |= {domain}
    return replace(case, booked=tuple(booked))


def ask_for_no_offer(case: Case, domain: str) -> Case:
    """Let the goal be content with any offer, and with none."""
    goal = replace(case.goal[domain], needs_offer=NeedsOffer.NEVER)
    return replace(case, goal={**case.goal, domain: goal})
