"""What an input is made of, counted, and whether it fits the corpus.

The counts are enough for everything that is decided by, or said about, all of an input. Those of
parts add up, so an input may come in parts. Ids and lengths must fit; what is missing is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mwzeval.errors import SHOWN_PROBLEMS, did_you_mean
from mwzeval.multiwoz.choices import SAMPLE
from mwzeval.multiwoz.corpus.corpora import SAMPLE_PREFIX, GoldFold, Seen, dialogue_of
from mwzeval.multiwoz.corpus.gold import dialogue_id
from mwzeval.multiwoz.corpus.references import References
from mwzeval.multiwoz.normalization.normalize import unknown_placeholders
from mwzeval.multiwoz.predictions.evidence import Evidence
from mwzeval.multiwoz.predictions.reading import Dialogues, Findings
from mwzeval.multiwoz.predictions.wording import Answers, Wording

DIFFERENT_PLACEHOLDERS = 2**12
"""Unknown placeholders told apart in a part of an input; no system means as many."""


@dataclass(slots=True)
class Census:
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
        """Add the counts of another part."""
        self.turns += later.turns
        self.with_state += later.with_state
        self.with_values += later.with_values
        self.with_domains += later.with_domains
        self.with_any_domain += later.with_any_domain
        self.with_bookings += later.with_bookings
        self.wording.merge(later.wording)
        self.answers.merge(later.answers)
        self.evidence.merge(later.evidence)
        # Not `+`, which drops what is counted 0 times.
        self.references.update(later.references)
        for name, times in later.unknown_placeholders.items():
            known = name in self.unknown_placeholders
            if known or len(self.unknown_placeholders) < DIFFERENT_PLACEHOLDERS:
                self.unknown_placeholders[name] += times
        self.seen.merge(later.seen)


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of a fold was predicted: (there, in the fold), and the same per goal domain.

    With `rollouts`, so many of its dialogues in all, the turns are out of those that they have.
    """

    dialogues: tuple[int, int]
    turns: tuple[int, int]
    domains: Mapping[str, tuple[int, int]]
    rollouts: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the form of the report's `meta`."""
        rollouts = {} if self.rollouts is None else {"rollouts": {"scored": self.rollouts}}
        return {
            **rollouts,
            "dialogues": {"scored": self.dialogues[0], "of": self.dialogues[1]},
            "turns": {"scored": self.turns[0], "of": self.turns[1]},
            "domains": {
                name: {"scored": scored, "of": of} for name, (scored, of) in self.domains.items()
            },
        }


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


def coverage(census: Census, gold: GoldFold) -> Coverage:
    """Return how much of the fold is there."""
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
    return Coverage(
        (len(census.seen), len(gold.dialogues)),
        (census.turns, turns),
        {domain: (there, of) for domain, (there, of) in sorted(domains.items())},
        rollouts if gold.rollouts else None,
    )


def check_coverage(census: Census, gold: GoldFold, findings: Findings) -> None:
    """Warn when dialogues or turns of the fold are missing."""
    found = coverage(census, gold)
    for what, (there, of) in (("dialogues", found.dialogues), ("turns", found.turns)):
        if there < of:
            findings.warning(
                f"fewer-{what}",
                f"{of - there} of the fold's {of} {what} are not in the predictions; the scores "
                f"are of the {there} that are, and not comparable to those of the whole fold",
            )
