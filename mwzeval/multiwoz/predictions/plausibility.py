"""Warnings about predictions that can be scored, but perhaps are not what was meant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from mwzeval.errors import SHOWN_PROBLEMS, Problem, did_you_mean, shorten
from mwzeval.multiwoz.choices import AUTO, LEXICALIZED, Responses, Rules
from mwzeval.multiwoz.corpus import GoldFold, References
from mwzeval.multiwoz.normalization import ONTOLOGY, normalize_slot, normalize_value
from mwzeval.multiwoz.placeholders import PLACEHOLDERS, known_placeholders
from mwzeval.multiwoz.predictions.census import Answers, Census, answers_alike, most_frequent
from mwzeval.multiwoz.predictions.reading import (
    UNFILLED,
    Dialogues,
    Findings,
    bare,
    spelling,
    visible,
)
from mwzeval.multiwoz.words.numbers import has_identifier

ACTIVE_DOMAINS = ONTOLOGY.keys() | {"general", "booking"}
"""The domains that turns may be about; those of dialogue acts among them belong to no goal."""

LEXICALIZED_SHARE = 0.02
"""Even in delexicalised references a dialogue in hundreds mentions nothing of the database."""


def check_keys(
    census: Census, gold: GoldFold, findings: Findings, *, judges_goals: bool = True
) -> None:
    """Warn when a key that all turns need is there for some turns only, or says nothing.

    Where goals are judged (Inform, Success and grounded scores), warn also when no turn has a
    state, because gold states are then used.
    """
    turns = census.turns
    if judges_goals and census.with_state < turns:
        missing = "the file has none"
        if census.with_state:
            missing = f"{turns - census.with_state} of {turns} turns have none"
        findings.warning(
            "partial-state" if census.with_state else "gold-states",
            f"states: gold ({missing}); compare only with policy-optimization results",
        )
    if 0 < census.with_domains < turns:
        findings.warning(
            "partial-active_domains",
            "active domains: estimated from the states, for all turns "
            f"({turns - census.with_domains} of {turns} turns have none)",
        )
    if census.with_domains and not census.with_any_domain:
        findings.warning(
            "no-active-domains",
            "active_domains are empty in every turn, so nothing is offered or provided; leave the "
            "key out to have them estimated from the states",
        )
    annotated = (gold.dialogues[name].states for name in census.seen if name in gold.dialogues)
    if (
        census.with_state == census.turns
        and not census.with_values
        and any(slots for states in annotated for state in states for slots in state.values())
    ):
        findings.warning(
            "empty-states",
            "the states of all turns are empty, so offers hardly fit and no slot is right; leave "
            'the key "state" out to have gold states',
        )


def check_tracking(census: Census, findings: Findings) -> None:
    """Warn when state tracking was asked for, but not every turn has a predicted state."""
    if census.with_state < census.turns:
        findings.warning(
            "no-states", "state tracking is not scored, because there are turns without a state"
        )


def check_turns(dialogues: Dialogues, rules: Rules, findings: Findings) -> None:
    """Warn about what turns say that MultiWOZ does not have, or that is hardly meant so."""
    unusual = list(_unusual(dialogues, rules))
    _check_slots(unusual, findings)
    for name, index, domain, slots in unusual:
        for slot, value in slots.items():
            if found := _odd_value(slot, value, rules):
                key = f"state.{domain}.{slot}"
                findings.warning(*found, dialogue=name, turn=index, key=key)
    check_active_domains(dialogues, findings)


Said = tuple[str, int, str, Mapping[str, str]]
"""Dialogue, turn, domain, and the slots that the state has of it."""


def _unusual(dialogues: Dialogues, rules: Rules) -> Iterator[Said]:
    """Yield what may be worth a warning: mostly nothing, so that this is all that is looked at."""
    for name, turns in dialogues.items():
        usual: dict[str, Mapping[str, str]] = {}
        for index, turn in enumerate(turns):
            for domain, slots in (turn.state or {}).items():
                if slots == usual.get(domain):
                    continue  # Most slots are those of the turn before.
                if _has_known_slots(domain, slots) and not any(
                    _odd_value(slot, value, rules) for slot, value in slots.items()
                ):
                    usual[domain] = slots
                else:
                    yield name, index, domain, slots


def _has_known_slots(domain: str, slots: Mapping[str, str]) -> bool:
    known = ONTOLOGY.get(domain)
    if known is None:
        return False
    return slots.keys() <= known or all(normalize_slot(slot) in known for slot in slots)


@lru_cache(maxsize=2**15)
def _odd_value(slot: str, value: str, rules: Rules) -> tuple[str, str] | None:
    """Return kind and message for a value that is hardly meant as it is written.

    Only what the normalisation of the slot's values leaves as it is: names may have capitals.
    """
    if (meant := bare(value)) in UNFILLED:
        said = "an empty value" if not meant else f'"{meant}"'
        return "unfilled-value", (
            f"{said} is scored as the value of a slot: leave out slots that are not filled, or "
            f"say --unfilled '{spelling(meant)}'"
        )
    if visible(value) != value:
        return (
            "invisible-characters",
            "characters that are not seen, such as zero-width spaces, make a value another "
            "value: leave them out",
        )
    name = normalize_slot(slot)
    if normalize_value(name, value, rules) != normalize_value(name, value.strip(), rules):
        message = "blanks around a value make it another value: leave them out"
        return "blanks-around-value", message
    value = value.strip()
    if normalize_value(name, value, rules) != normalize_value(name, value.lower(), rules):
        return "upper-case-value", "capitals make a value another value: write it in lower case"
    return None


def _check_slots(said: Iterable[Said], findings: Findings) -> None:
    """Warn about domains and slots that MultiWOZ does not have (they are scored as they are)."""
    messages: dict[tuple[str, str | None], str | None] = {}
    for name, index, domain, slots in said:
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


def check_responses(
    census: Census, lexicalized: bool, findings: Findings, responses: Responses = AUTO
) -> None:
    """Warn about placeholders nobody knows or all turns have, and of unclear kinds of responses.

    `lexicalized` is whether they are taken to be in words, `responses` how they are said to be.
    """
    bracketed: Counter[str] = Counter()
    for number, (name, count) in enumerate(sorted(census.unknown_placeholders.items())):
        close = did_you_mean(name, PLACEHOLDERS) if number < SHOWN_PROBLEMS else ""
        if lexicalized and not close:  # links of Markdown, for one, of which there are many
            bracketed[name] = count
            continue
        findings.warning(
            "unknown-placeholder",
            f'unknown placeholder "[{shorten(name)}]" is dropped{close}',
            count=count,
        )
    if bracketed:
        (most, _), *_ = bracketed.most_common(1)
        findings.warning(
            "unknown-placeholder",
            f'text in brackets, such as "[{shorten(most)}]", is left out of BLEU and richness, '
            "unless it holds a value of the database",
            count=bracketed.total(),
        )
    check_answers(census.answers, findings)
    wording = census.wording
    there, in_words = wording.with_placeholder, wording.identifier_in_words
    mixture = (
        f"{there} of {census.turns} turns have placeholders; a phone number, postcode, train id or "
        f"reference stands in {wording.identifier_as_placeholder} as a placeholder and in "
        f"{in_words} without any"
    )
    if not there:
        seems = "no response has a placeholder like [restaurant_name]: they look lexicalised, and"
        if responses == AUTO:
            findings.warning(
                "lexicalized",
                f"{seems} are delexicalised with the database for scoring; "
                "--responses lexicalized says that it is meant",
            )
        elif responses != LEXICALIZED:
            findings.warning(
                "lexicalized",
                f"{seems} Inform, Success and BLEU only mean something for delexicalised "
                "responses: see --responses",
            )
    elif responses == LEXICALIZED:
        findings.warning(
            "mixed-responses",
            f"{there} of {census.turns} turns have placeholders already, which stay; values in "
            "words get placeholders in all turns",
        )
    elif in_words and responses == AUTO and lexicalized:
        findings.warning(
            "mixed-responses",
            f"{mixture}: they were taken to be lexicalised, and delexicalised with the database; "
            "say with --responses which they are",
        )
    elif in_words:
        findings.warning(
            "mixed-responses",
            f"{mixture}: what is said in words is not counted, unless with --responses lexicalized",
        )


def check_grounded(census: Census, lexicalized: bool, findings: Findings) -> None:
    """Warn about grounded scores that cannot be computed, or not from one source."""
    if not lexicalized:
        findings.warning(
            "not-grounded",
            "responses have placeholders, which say nothing that could be held against the "
            "database: of the grounded scores only booking is computed",
        )
    if not census.with_bookings and census.with_state < census.turns:
        findings.warning(
            "no-bookings",
            'booking is not scored: no turn has "bookings", and there are turns without a state',
        )
    without = census.turns - census.with_bookings
    if 0 < without < census.turns:
        findings.warning(
            "partial-bookings",
            f"{without} of {census.turns} turns are of dialogues without "
            '"bookings": what these book is read from their last state, if states are predicted; '
            'write "bookings": [] where nothing is booked',
        )


def check_references(
    census: Census, sets: Mapping[str, References], default: str, findings: Findings
) -> None:
    """Warn about reference sets that lack turns, or dialogues that are not delexicalised there.

    Warn also when the default set of the corpus is not among them.
    """
    if sets and default not in sets:
        findings.warning(
            "other-references",
            f"references: {', '.join(sets)}; the default of the corpus is {default}",
        )
    for name, references in sets.items():
        there = census.references[name]
        if there < census.turns:
            findings.warning(
                "fewer-references",
                f'the reference set "{name}" has only {there} of the {census.turns} turns; '
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


def check_answers(answers: Answers, findings: Findings) -> None:
    """Warn when most turns have the same placeholders, or answer what nobody has asked yet."""
    if answers_alike(answers):
        alike, names = most_frequent(answers)
        findings.warning(
            "same-placeholders",
            f"{alike} of {answers.turns} turns have the same placeholders ({', '.join(names)}), "
            f"and {answers.early} of {answers.requests} requests are answered before they are "
            "made: Inform and Success say little about such responses, look at BLEU as well",
        )


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
