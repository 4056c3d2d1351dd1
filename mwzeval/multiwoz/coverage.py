"""Does an input fit the corpus? Ids, lengths, slots, placeholders; what is missing is counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mwzeval.errors import did_you_mean, shorten
from mwzeval.multiwoz.corpus import SAMPLE_PREFIX, GoldFold
from mwzeval.multiwoz.gold import dialogue_id
from mwzeval.multiwoz.normalization import normalize_slot, unknown_placeholders
from mwzeval.multiwoz.ontology import ONTOLOGY, UNPREFIXED_BOOKING_SLOTS
from mwzeval.multiwoz.placeholders import PLACEHOLDERS
from mwzeval.multiwoz.predictions import Dialogues, Findings


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of a fold was predicted: (there, in the fold), and the same per goal domain."""

    dialogues: tuple[int, int]
    turns: tuple[int, int]
    domains: Mapping[str, tuple[int, int]]

    def to_json(self) -> dict[str, Any]:
        """Return the form of the report's `meta`."""
        return {
            "dialogues": {"scored": self.dialogues[0], "of": self.dialogues[1]},
            "turns": {"scored": self.turns[0], "of": self.turns[1]},
            "domains": {
                name: {"scored": scored, "of": of} for name, (scored, of) in self.domains.items()
            },
        }


def fits(dialogues: Dialogues, gold: GoldFold, findings: Findings) -> None:
    """Note dialogues that the fold does not have, and those with more turns than there are."""
    for name, turns in dialogues.items():
        annotated = gold.dialogues.get(name)
        if annotated is None:
            findings.error("unknown-dialogue", _unknown_dialogue(name, gold), dialogue=name)
        elif len(turns) > len(annotated.states):
            findings.error(
                "too-many-turns",
                f"has {len(turns)} system turns; the {gold.fold} fold of {gold.corpus} has "
                f"{len(annotated.states)} — predict one response per system turn",
                dialogue=name,
            )


def _unknown_dialogue(name: str, gold: GoldFold) -> str:
    canonical = dialogue_id(name)
    if canonical != name and canonical in gold.dialogues:
        return f'ids are lower-case and without file ending: write "{canonical}"'
    where = f"the {gold.fold} fold of {gold.corpus}"
    if name.startswith(SAMPLE_PREFIX):
        return f"not in {where}, but perhaps in the sample: --corpus sample scores the sample alone"
    if len(gold.dialogues) > 3:
        return f"not in {where}{did_you_mean(name, gold.dialogues)}"
    return f"not in {where}"


def coverage(dialogues: Dialogues, gold: GoldFold, findings: Findings) -> Coverage:
    """Return how much of the fold is there; warn when it is not all of it."""
    domains: dict[str, list[int]] = {}
    for name, annotated in gold.dialogues.items():
        for domain in annotated.goal:
            counts = domains.setdefault(domain, [0, 0])
            counts[0] += name in dialogues
            counts[1] += 1
    result = Coverage(
        (len(dialogues), len(gold.dialogues)),
        (
            sum(len(turns) for turns in dialogues.values()),
            sum(len(annotated.states) for annotated in gold.dialogues.values()),
        ),
        {domain: (there, of) for domain, (there, of) in sorted(domains.items())},
    )
    for what, (there, of) in (("dialogues", result.dialogues), ("turns", result.turns)):
        if there < of:
            findings.warning(
                f"fewer-{what}",
                f"{of - there} of the fold's {of} {what} are not in the predictions; the scores "
                f"are of the {there} that are, and not comparable to those of the whole fold",
            )
    return result


def check_keys(dialogues: Dialogues, findings: Findings) -> None:
    """Warn when a key that all turns need together is there for some turns only."""
    turns = [turn for turns in dialogues.values() for turn in turns]
    for key, consequence in (
        ("state", "gold states replace all predicted ones"),
        ("active_domains", "they are estimated from the states for all turns"),
    ):
        lacking = sum(getattr(turn, key) is None for turn in turns)
        if 0 < lacking < len(turns):
            findings.warning(
                f"partial-{key}", f'{lacking} of {len(turns)} turns have no "{key}": {consequence}'
            )


def check_states(dialogues: Dialogues, findings: Findings) -> None:
    """Warn about domains and slots that MultiWOZ does not have (they are scored as they are)."""
    seen: Counter[tuple[str, str | None]] = Counter()
    first: dict[tuple[str, str | None], tuple[str, int]] = {}
    for name, turns in dialogues.items():
        for index, turn in enumerate(turns):
            for domain, slots in (turn.state or {}).items():
                for slot in slots if domain in ONTOLOGY else (None,):
                    seen[domain, slot] += 1
                    first.setdefault((domain, slot), (name, index))
    for (domain, slot), count in seen.items():
        message = _unknown_slot(domain, slot)
        if message:
            dialogue, number = first[domain, slot]
            findings.warning(
                "unknown-domain" if slot is None else "unknown-slot",
                message,
                count=count,
                dialogue=dialogue,
                turn=number,
                key=f"state.{domain}" + (f".{slot}" if slot else ""),
            )


def _unknown_slot(domain: str, slot: str | None) -> str | None:
    if slot is None:
        return f'unknown domain "{shorten(domain)}"{did_you_mean(domain, ONTOLOGY)}'
    name = normalize_slot(slot)
    if name in ONTOLOGY[domain] or name in UNPREFIXED_BOOKING_SLOTS:
        return None
    hint = did_you_mean(name, ONTOLOGY[domain])
    return f'unknown slot "{shorten(slot)}" in domain "{domain}"{hint}'


def check_responses(dialogues: Dialogues, findings: Findings) -> None:
    """Warn about placeholders that nobody knows, and about responses without any placeholder."""
    unknown: Counter[str] = Counter()
    placeholders = False
    for turns in dialogues.values():
        for turn in turns:
            if turn.response and "[" in turn.response:
                placeholders = True
                unknown += unknown_placeholders(turn.response)
    for name, count in sorted(unknown.items()):
        findings.warning(
            "unknown-placeholder",
            f'unknown placeholder "[{shorten(name)}]" is dropped{did_you_mean(name, PLACEHOLDERS)}',
            count=count,
        )
    if not placeholders:
        findings.warning(
            "lexicalized",
            "no response has a placeholder like [restaurant_name]: they look lexicalised, and "
            "Inform, Success and BLEU only mean something for delexicalised responses",
        )
