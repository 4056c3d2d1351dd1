"""Warnings about predictions that can be scored, but perhaps are not what was meant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from mwzeval.errors import SHOWN_PROBLEMS, did_you_mean, shorten
from mwzeval.multiwoz.normalization import normalize_slot, unknown_placeholders
from mwzeval.multiwoz.ontology import ONTOLOGY
from mwzeval.multiwoz.placeholders import PLACEHOLDERS
from mwzeval.multiwoz.predictions import Dialogues, Findings
from mwzeval.multiwoz.references import References

ACTIVE_DOMAINS = ONTOLOGY.keys() | {"general", "booking"}
"""The domains that turns may be about; those of dialogue acts among them belong to no goal."""

LEXICALIZED_SHARE = 0.02
"""Even in delexicalised references a dialogue in hundreds mentions nothing of the database."""


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


def check_tracking(dialogues: Dialogues, findings: Findings) -> None:
    """Warn when state tracking was asked for, but not every turn has a predicted state."""
    if any(turn.state is None for turns in dialogues.values() for turn in turns):
        findings.warning(
            "no-states", "state tracking is not scored, because there are turns without a state"
        )


def check_states(dialogues: Dialogues, findings: Findings) -> None:
    """Warn about domains and slots that MultiWOZ does not have (they are scored as they are)."""
    messages: dict[tuple[str, str | None], str | None] = {}
    for name, turns in dialogues.items():
        for index, turn in enumerate(turns):
            for domain, slots in (turn.state or {}).items():
                if domain in ONTOLOGY and slots.keys() <= ONTOLOGY[domain]:
                    continue
                for slot in slots if domain in ONTOLOGY else (None,):
                    if (domain, slot) not in messages:
                        # Looking for the closest name is slow, and garbage has many names.
                        hint = findings.warned < SHOWN_PROBLEMS
                        messages[domain, slot] = _unknown(domain, slot, hint=hint)
                    message = messages[domain, slot]
                    if message:
                        kind = "unknown-domain" if slot is None else "unknown-slot"
                        key = f"state.{domain}" if slot is None else f"state.{domain}.{slot}"
                        findings.warning(kind, message, dialogue=name, turn=index, key=key)


def _unknown(domain: str, slot: str | None, *, hint: bool) -> str | None:
    """Return what to say about a domain (and slot); None for one that exists."""
    if slot is None:
        close = did_you_mean(domain, ONTOLOGY) if hint else ""
        return f'unknown domain "{shorten(domain)}"{close}'
    name = normalize_slot(slot)
    if name in ONTOLOGY[domain]:
        return None
    close = did_you_mean(name, ONTOLOGY[domain]) if hint else ""
    return f'unknown slot "{shorten(slot)}" in domain "{domain}"{close}'


def check_active_domains(dialogues: Dialogues, findings: Findings) -> None:
    """Warn about active domains that MultiWOZ does not have: their turns count for nothing."""
    messages: dict[str, str] = {}
    for name, turns in dialogues.items():
        for index, turn in enumerate(turns):
            for domain in turn.active_domains or ():
                if domain in ACTIVE_DOMAINS:
                    continue
                if domain not in messages:
                    hint = findings.warned < SHOWN_PROBLEMS
                    messages[domain] = _unknown(domain, None, hint=hint) or ""
                findings.warning(
                    "unknown-active-domain",
                    messages[domain],
                    dialogue=name,
                    turn=index,
                    key="active_domains",
                )
    with_domains = [turn for turns in dialogues.values() for turn in turns if turn.active_domains]
    if not with_domains and any(
        turn.active_domains is not None for turns in dialogues.values() for turn in turns
    ):
        findings.warning(
            "no-active-domains",
            "active_domains are empty in every turn, so nothing is offered or provided; leave the "
            "key out to have them estimated from the states",
        )


def check_responses(dialogues: Dialogues, findings: Findings) -> None:
    """Warn about placeholders that nobody knows, and about responses without any placeholder."""
    responses = Counter(turn.response or "" for turns in dialogues.values() for turn in turns)
    unknown: Counter[str] = Counter()
    for response, times in responses.items():
        for name in unknown_placeholders(response) if "[" in response else ():
            unknown[name] += times
    for number, (name, count) in enumerate(sorted(unknown.items())):
        close = did_you_mean(name, PLACEHOLDERS) if number < SHOWN_PROBLEMS else ""
        findings.warning(
            "unknown-placeholder",
            f'unknown placeholder "[{shorten(name)}]" is dropped{close}',
            count=count,
        )
    if not any("[" in response for response in responses):
        findings.warning(
            "lexicalized",
            "no response has a placeholder like [restaurant_name]: they look lexicalised, and "
            "Inform, Success and BLEU only mean something for delexicalised responses",
        )


def check_references(
    dialogues: Dialogues, sets: Mapping[str, References], findings: Findings
) -> None:
    """Warn about reference sets that lack turns, or dialogues that are not delexicalised there."""
    turns = sum(len(turns) for turns in dialogues.values())
    for name, references in sets.items():
        there = sum(
            min(len(turns), len(references.responses.get(dialogue, ())))
            for dialogue, turns in dialogues.items()
        )
        if there < turns:
            findings.warning(
                "fewer-references",
                f'the reference set "{name}" has only {there} of the {turns} turns; '
                f"its BLEU is of these",
            )
        # Normalised text is lower-case but for placeholders.
        lexicalized = sum(
            all(text == text.lower() for text in texts) for texts in references.responses.values()
        )
        if lexicalized > LEXICALIZED_SHARE * len(references.responses):
            findings.warning(
                "lexicalized-references",
                f'the reference set "{name}" has {lexicalized} of {len(references.responses)} '
                "dialogues without any placeholder, perhaps because their spans are not annotated: "
                "its BLEU is not comparable, see --references",
            )
