"""Responses that answer everything always: the same placeholders in most turns, requests answered
before they are made. Inform and Success do not see that; it is counted here, to be warned about.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from mwzeval.multiwoz.corpus.gold import GoldDialogue
from mwzeval.multiwoz.inform_success import OFFERED_BY, PROVIDABLE
from mwzeval.multiwoz.normalization.normalize import canonical_response
from mwzeval.scores.findings import Findings

MOST_ALIKE = 0.5
"""Share of turns with the same placeholders from which on it is told; published systems: 0.11 to
0.18, LAVA 0.35."""
MOST_EARLY = 0.8
"""Share of requests answered too early from which on it is told; published systems: 0.05 to 0.13,
LAVA 0.61."""
FEWEST_TURNS, FEWEST_REQUESTS = 100, 30
"""Below these a share says nothing."""

COUNTED = tuple(sorted({*OFFERED_BY.values(), *PROVIDABLE}))
"""The placeholders that Inform and Success look for."""
_ASKED = {
    "PHONE": re.compile(r"phone|number"),
    "POST": re.compile(r"post ?code|zip"),
    "ADDRESS": re.compile(r"address|locat"),
    "REFERENCE": re.compile(r"reference|book|reserv|confirm"),
    "TRAINID": re.compile(r"\bid\b|train number"),
}
"""What users say, in lower case, when they ask for it."""


@dataclass(slots=True)
class Answers:
    """Counts of turns by their placeholders, and of requests: of all that goals have and users
    make, and of those answered before. Counts of parts add up.
    """

    turns: int = 0
    placeholders: Counter[tuple[str, ...]] = field(default_factory=Counter)
    requests: int = 0
    early: int = 0

    def add(self, responses: Sequence[str], gold: GoldDialogue | None) -> None:
        """Count the responses of a dialogue; without gold data no requests are known."""
        first: dict[str, int] = {}
        for turn, response in enumerate(responses):
            text = canonical_response(response) if "[" in response else ""
            there = tuple(name for name in COUNTED if name in text)
            self.placeholders[there] += 1
            for name in there:
                first.setdefault(name, turn)
        self.turns += len(responses)
        goals = () if gold is None else gold.goal.values()
        for slot in {slot for goal in goals for slot in goal.requestable if slot in _ASKED}:
            asked = None if gold is None else _first_asked(slot, gold.user_utterances)
            if asked is not None:
                self.requests += 1
                self.early += slot in first and first[slot] < asked

    def merge(self, later: Answers) -> None:
        """Add the counts of another part."""
        self.turns += later.turns
        self.placeholders.update(later.placeholders)
        self.requests += later.requests
        self.early += later.early


def _first_asked(slot: str, user_utterances: Sequence[str]) -> int | None:
    """Return the turn in which the user first asks for a slot, None if there is none."""
    said = enumerate(user_utterances)
    return next((turn for turn, text in said if _ASKED[slot].search(text.lower())), None)


def check_answers(answers: Answers, findings: Findings) -> None:
    """Warn when most turns have the same placeholders, or answer what nobody has asked yet."""
    some = [(times, names) for names, times in answers.placeholders.items() if names]
    alike, names = max(some, default=(0, ()))
    most_alike = answers.turns >= FEWEST_TURNS and alike > MOST_ALIKE * answers.turns
    most_early = (
        answers.requests >= FEWEST_REQUESTS and answers.early > MOST_EARLY * answers.requests
    )
    if most_alike or most_early:
        findings.warning(
            "same-placeholders",
            f"{alike} of {answers.turns} turns have the same placeholders ({', '.join(names)}), "
            f"and {answers.early} of {answers.requests} requests are answered before they are "
            "made: Inform and Success say little about such responses, look at BLEU as well",
        )
