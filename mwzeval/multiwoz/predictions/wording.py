"""Are responses in words or in placeholders? What speaks for either, counted, and the decision.

Like is held against like: a turn that gives a phone number, postcode, train id or reference as a
placeholder against one that gives it in words. Systems of either kind do so in a quarter to a third
of their turns, and hardly ever in the other way. Only placeholders that the scorer knows count:
brackets have many other uses, in Markdown for one.

Responses that answer everything always: the same placeholders in most turns, requests answered
before they are made. Inform and Success do not see that; it is counted here, to be warned about.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache

from mwzeval.errors import Problem, shorten
from mwzeval.multiwoz.corpus.gold import GoldDialogue
from mwzeval.multiwoz.normalization.placeholders import known_placeholders, placeholders_of
from mwzeval.multiwoz.predictions.reading import Dialogues
from mwzeval.multiwoz.scoring.goal_success import OFFERED_BY, PROVIDABLE
from mwzeval.multiwoz.words.numbers import has_identifier
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
        answered = [_counted_in(response) if "[" in response else () for response in responses]
        self.placeholders.update(answered)
        self.turns += len(responses)
        goals = () if gold is None else gold.goal.values()
        for slot in {slot for goal in goals for slot in goal.requestable if slot in _ASKED}:
            asked = None if gold is None else _first_asked(slot, gold.user_utterances)
            if asked is not None:
                self.requests += 1
                self.early += any(slot in names for names in answered[:asked])

    def merge(self, later: Answers) -> None:
        """Add the counts of another part."""
        self.turns += later.turns
        self.placeholders.update(later.placeholders)
        self.requests += later.requests
        self.early += later.early


@lru_cache(maxsize=2**14)
def _counted_in(response: str) -> tuple[str, ...]:
    names = placeholders_of(response).names
    return tuple([name for name in COUNTED if name in names])


@lru_cache(maxsize=2**12)
def _first_asked(slot: str, user_utterances: tuple[str, ...]) -> int | None:
    """Return the turn in which the user first asks for a slot, None if there is none."""
    said = enumerate(user_utterances)
    return next((turn for turn, text in said if _ASKED[slot].search(text.lower())), None)


def answers_alike(answers: Answers) -> bool:
    """Tell whether most turns have the same placeholders, or answer what nobody has asked yet."""
    alike, _ = _most_frequent(answers)
    return (answers.turns >= FEWEST_TURNS and alike > MOST_ALIKE * answers.turns) or (
        answers.requests >= FEWEST_REQUESTS and answers.early > MOST_EARLY * answers.requests
    )


def _most_frequent(answers: Answers) -> tuple[int, tuple[str, ...]]:
    some = [(times, names) for names, times in answers.placeholders.items() if names]
    return max(some, default=(0, ()))


def check_answers(answers: Answers, findings: Findings) -> None:
    """Warn when most turns have the same placeholders, or answer what nobody has asked yet."""
    if answers_alike(answers):
        alike, names = _most_frequent(answers)
        findings.warning(
            "same-placeholders",
            f"{alike} of {answers.turns} turns have the same placeholders ({', '.join(names)}), "
            f"and {answers.early} of {answers.requests} requests are answered before they are "
            "made: Inform and Success say little about such responses, look at BLEU as well",
        )


IDENTIFIERS = frozenset({"PHONE", "POST", "TRAINID", "REFERENCE"})
"""The (canonical) placeholders of what can be told by its form alone where it stands in words."""
TELLING = frozenset({"name", "phone", "postcode", "trainid", "reference"})
"""The slots of mentions that tell words from placeholders where a database is at hand."""


@dataclass(slots=True)
class Wording:
    """Counts of turns: with a known placeholder, with one of an identifier, and without any but
    with an identifier in words. Counts of parts add up.
    """

    with_placeholder: int = 0
    identifier_as_placeholder: int = 0
    identifier_in_words: int = 0

    @classmethod
    def of(cls, responses: Iterable[str]) -> Wording:
        """Count responses."""
        wording = cls()
        for response, times in Counter(responses).items():
            wording.add(response, times)
        return wording

    def add(self, response: str, times: int = 1) -> None:
        """Count a response that comes so many times."""
        if known := known_placeholders(response):
            self.with_placeholder += times
            self.identifier_as_placeholder += times * (not known.isdisjoint(IDENTIFIERS))
        elif has_identifier(response):
            self.identifier_in_words += times

    def merge(self, later: Wording) -> None:
        """Add the counts of another part."""
        self.with_placeholder += later.with_placeholder
        self.identifier_as_placeholder += later.identifier_as_placeholder
        self.identifier_in_words += later.identifier_in_words

    @property
    def lexicalized(self) -> bool:
        """Whether responses are in words: none has a placeholder, or most identifiers are words.

        As many of either are taken for words, because placeholders stay where responses are
        delexicalised, but words count for nothing where they are not.
        """
        in_words = self.identifier_in_words
        return not self.with_placeholder or 0 < in_words >= self.identifier_as_placeholder

    def plain(self) -> dict[str, int]:
        """Return the counts for JSON."""
        return asdict(self)


def check_each_turn(dialogues: Dialogues, lexicalized: bool, findings: Findings) -> list[Problem]:
    """Return a warning for each turn that speaks against what responses are taken to be."""
    problems = []
    for name, turns in dialogues.items():
        for index, turn in enumerate(turns):
            response = turn.response or ""
            known = known_placeholders(response)
            if lexicalized and known:
                message = f"placeholders ({', '.join(sorted(known))}) among responses in words"
            elif not (lexicalized or known) and has_identifier(response):
                message = f"in words among responses with placeholders: {shorten(response)}"
            else:
                continue
            problems.append(
                Problem(
                    "mixed-response",
                    message,
                    "warning",
                    findings.file,
                    dialogue=name,
                    turn=findings.position(name, index),
                )
            )
    return problems
