"""What an input is made of, counted, and whether it fits the corpus.

The counts are enough for everything that is decided by, or reported about, a whole input. Those of
parts add up, so an input may come in parts. Ids and lengths must fit; what is missing is counted.

Are responses in words or in placeholders? Like is compared with like: a turn that gives a phone
number, postcode, train id or reference as a placeholder with a turn that gives it in words. Systems
of either kind do so in a quarter to a third of their turns, and hardly ever in the other way. Only
placeholders that the scorer knows count: brackets have many other uses, in Markdown for example.

Some systems always answer everything: the same placeholders in most turns, requests answered before
they are made. Inform and Success do not notice that; it is counted here, and warned about.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from mwzeval.errors import SHOWN_PROBLEMS, did_you_mean
from mwzeval.multiwoz.annotations import GoldDialogue, dialogue_id
from mwzeval.multiwoz.choices import SAMPLE
from mwzeval.multiwoz.corpus import SAMPLE_PREFIX, GoldFold, References, Seen, dialogue_of
from mwzeval.multiwoz.placeholders import known_placeholders, placeholders_of, unknown_placeholders
from mwzeval.multiwoz.predictions.evidence import IDENTIFIERS, Evidence
from mwzeval.multiwoz.predictions.reading import Dialogues, Findings
from mwzeval.multiwoz.scoring.goal_success import OFFERED_BY, PROVIDABLE
from mwzeval.multiwoz.words.numbers import has_identifier

if TYPE_CHECKING:
    from typing_extensions import Self


class Counts:
    """Counts of a part of an input, a dataclass; those of parts add up."""

    __slots__ = ()

    def merge(self, later: Self) -> None:
        """Add the counts of a later part."""
        for item in fields(self):  # type: ignore[arg-type]
            own, other = getattr(self, item.name), getattr(later, item.name)
            if isinstance(own, int):
                setattr(self, item.name, own + other)
            elif isinstance(own, Counter):
                own.update(other)  # Not `+`, which drops what is counted 0 times.
            else:
                own.merge(other)


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
class Answers(Counts):
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
    alike, _ = most_frequent(answers)
    return (answers.turns >= FEWEST_TURNS and alike > MOST_ALIKE * answers.turns) or (
        answers.requests >= FEWEST_REQUESTS and answers.early > MOST_EARLY * answers.requests
    )


def most_frequent(answers: Answers) -> tuple[int, tuple[str, ...]]:
    """Return the most frequent placeholders of a turn, and in how many turns they are."""
    some = [(times, names) for names, times in answers.placeholders.items() if names]
    return max(some, default=(0, ()))


@dataclass(slots=True)
class Wording(Counts):
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


TELLING = frozenset({"name", "phone", "postcode", "trainid", "reference"})
"""The slots of mentions that tell words from placeholders where a database is at hand."""


DIFFERENT_PLACEHOLDERS = 2**12
"""Unknown placeholders told apart in a part of an input; no system means as many."""


@dataclass(slots=True)
class Census(Counts):
    """Counts of turns: with a predicted state, with a value in it, with active domains, with any
    domain among these, of dialogues that say what they book, by reference set those that have a
    reference, in `wording` those with placeholders and words, in `answers` those alike, and in
    `evidence` what a sample of the dialogues shows.

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
    evidence: Evidence = field(default_factory=Evidence)
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
        responses: list[str] = []
        for name, turns in dialogues.items():
            census.seen.add(name)
            dialogue = gold.name_of(name)
            said = [turn.response or "" for turn in turns]
            responses += said
            census.answers.add(said, gold.dialogues.get(dialogue))
            for reference_set, references in reference_sets.items():
                there = len(references.responses.get(dialogue, ()))
                census.references[reference_set] += min(len(turns), there)
        for turns in dialogues.values():
            census.turns += len(turns)
            if any(turn.bookings is not None for turn in turns):
                census.with_bookings += len(turns)
            states = [turn.state for turn in turns if turn.state is not None]
            domains = [turn.active_domains for turn in turns if turn.active_domains is not None]
            census.with_state += len(states)
            census.with_values += sum(any(state.values()) for state in states)
            census.with_domains += len(domains)
            census.with_any_domain += sum(map(bool, domains))
        for response, times in Counter(responses).items():
            census.wording.add(response, times)
            if "[" in response:
                for name in unknown_placeholders(response):
                    census.unknown_placeholders[name] += times
        return census

    def merge(self, later: Census) -> None:
        """Add the counts of a later part, of not too many unknown placeholders."""
        known = self.unknown_placeholders
        super(Census, self).merge(later)
        for name in list(known)[DIFFERENT_PLACEHOLDERS:]:
            del known[name]


def with_ids_of_fold(dialogues: Dialogues, gold: GoldFold, findings: Findings) -> Dialogues:
    """Return dialogues under the ids of the fold where capitals or `.json` are all that differs.

    Ids stay as they are unless all of them fit then, each to a dialogue of its own.
    """
    if not dialogues or any(gold.name_of(name) in gold.dialogues for name in dialogues):
        return dialogues
    ids = {name: dialogue_id(name) for name in dialogues}
    if len(set(ids.values())) < len(ids) or not all(
        name in gold.dialogues for name in ids.values()
    ):
        return dialogues
    findings.positions = {ids.get(name, name): at for name, at in findings.positions.items()}
    findings.warning(
        "other-ids",
        "ids are read in lower case and without file ending, as the fold has them",
        count=len(ids),
        dialogue=next(iter(ids)),
    )
    return {ids[name]: turns for name, turns in dialogues.items()}


def check_fit(dialogues: Dialogues, gold: GoldFold, findings: Findings) -> None:
    """Note dialogues that the fold does not have, and those with more turns than there are."""
    strangers = len(dialogues) > 1 and not any(
        gold.name_of(name) in gold.dialogues or dialogue_id(name) in gold.dialogues
        for name in dialogues
    )
    if strangers:
        findings.error(
            "wrong-fold",
            f"none of the {len(dialogues)} dialogues is in the {gold.fold} fold of {gold.corpus}: "
            "choose another with --fold and --corpus",
        )
    for name, turns in dialogues.items():
        annotated = gold.dialogues.get(gold.name_of(name))
        if annotated is None:
            # Looking for the closest id is slow, and the file may be of another fold altogether.
            hint = not strangers and len(findings.errors) < SHOWN_PROBLEMS
            message = _unknown_dialogue(name, gold, hint=hint)
            findings.error("unknown-dialogue", message, dialogue=name)
        elif len(turns) > len(annotated.states):
            findings.error(
                "too-many-turns",
                f"has {len(turns)} system turns; the {gold.fold} fold of {gold.corpus} has "
                f"{len(annotated.states)} — predict one response per system turn",
                dialogue=name,
            )


def _unknown_dialogue(name: str, gold: GoldFold, *, hint: bool) -> str:
    if not gold.rollouts and dialogue_of(name) in gold.dialogues:
        return f'a rollout of "{dialogue_of(name)}": `mwzeval shards --rollouts` scores rollouts'
    canonical = dialogue_id(name)
    if canonical != name and canonical in gold.dialogues:
        return "write the id in lower case and without file ending, as the fold has it"
    where = f"the {gold.fold} fold of {gold.corpus}"
    if name.startswith(SAMPLE_PREFIX) and gold.corpus != SAMPLE:
        return f"not in {where} but of the sample, which is scored alone: --corpus sample"
    return f"not in {where}{did_you_mean(name, gold.dialogues) if hint else ''}"


def coverage(census: Census, gold: GoldFold) -> dict[str, Any]:
    """Return how much of the fold, and of its dialogues about each domain, was predicted.

    Of rollouts, the turns are out of those that the rollouts of all dialogues have.
    """
    domains: dict[str, list[int]] = {}
    turns = rollouts = 0
    for name, annotated in gold.dialogues.items():
        times = census.seen.rollouts(name)
        rollouts += times
        turns += max(1, times) * len(annotated.states)
        for domain in annotated.goal:
            counts = domains.setdefault(domain, [0, 0])
            counts[0] += times > 0
            counts[1] += 1
    shares = {"dialogues": (len(census.seen), len(gold.dialogues)), "turns": (census.turns, turns)}
    return {
        **({"rollouts": {"scored": rollouts}} if gold.rollouts else {}),
        **{name: {"scored": scored, "of": of} for name, (scored, of) in shares.items()},
        "domains": {
            name: {"scored": scored, "of": of} for name, (scored, of) in sorted(domains.items())
        },
    }


def check_coverage(census: Census, gold: GoldFold, findings: Findings) -> None:
    """Warn when dialogues or turns of the fold are missing."""
    found = coverage(census, gold)
    for what in ("dialogues", "turns"):
        there, of = found[what]["scored"], found[what]["of"]
        if there < of:
            findings.warning(
                f"fewer-{what}",
                f"{of - there} of the fold's {of} {what} are not in the predictions; the scores "
                f"are of the {there} that are, and not comparable to those of the whole fold",
            )
