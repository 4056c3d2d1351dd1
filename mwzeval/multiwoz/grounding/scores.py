"""The grounded scores of dialogues: rows of counts, rates, names of scores, and failure reasons.

The modules `claims.py`, `log.py` and `bookings.py` make the judgments. The definitions of grounded
scores, with examples, are in `docs/metrics.md`, and the failure reasons are in docs/explaining.md.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mwzeval.metrics.measure import Measure, Rate, Sign
from mwzeval.multiwoz.database import Database
from mwzeval.multiwoz.grounding.claims import (
    INVENTED,
    SLOTS,
    CheckedMention,
    Claim,
    Grounded,
)
from mwzeval.multiwoz.grounding.log import OF_LOG
from mwzeval.multiwoz.reasons import SHOWN, listed, reason, unmet
from mwzeval.multiwoz.schema import ALL_DOMAINS, BOOKED_BY, NAMED_BY, PROVIDABLE
from mwzeval.multiwoz.scoring.goal_success import Rates, judge
from mwzeval.scores.explanation import Fact, Reason
from mwzeval.scores.score import WHOLE

MENTIONS = Rates(
    (
        Rate("hallucination", "Hallucination", "hallucinated", "mentions", lower_is_better=True),
        Rate("consistency", "Consistency", "consistent", "belonging"),
    ),
    SLOTS,
    of_dialogues=False,
)
"""The rates of values and venues that are not in the database, and of values that agree with the
offered venues."""
LOG = Rates(
    (
        Rate("log_consistency", "Log Consistency", "logged_right", "logged"),
        Rate("log_only", "Log Only", "logged_only", "logged_both", lower_is_better=True),
    ),
    dict.fromkeys((*SLOTS, *OF_LOG)),
    of_dialogues=False,
)
"""Rates: claims that agree with tool results, and such claims that contradict the database."""
INFORM, SILENT, SUCCESS = "grounded_inform", "silent_inform", "grounded_success"
GOALS = Rates(
    (
        Rate(INFORM, "Grounded Inform", INFORM, "grounded_goals"),
        Rate(SILENT, "Inform if silent", SILENT, "grounded_goals", is_description=True),
        Rate(SUCCESS, "Grounded Success", SUCCESS, "grounded_goals"),
    ),
    ALL_DOMAINS,
    of_dialogues=True,
)
"""`SILENT` is a lower bound: the Grounded Inform of a system that names no venue."""
BOOKINGS = Rates(
    (Rate("booking", "Booking", "booking", "booking_goals"),), BOOKED_BY, of_dialogues=True
)
BY_CALLS = "booking_by_calls"
"""The column with the number of dialogues that list their bookings."""

OF_WORDS = ("hallucination", "consistency", INFORM, SILENT, SUCCESS)
"""The scores of responses, compared with the database."""
BY_LOG = ("log_consistency", "log_only")
"""The scores of responses, compared with results of tools."""

CHOICES: Mapping[str, Mapping[str, str]] = {
    "hallucination": {"echo": "left-out", "invented": "layout"},
    "consistency": {"offer": "named-or-query", "several": "sentence", "invented": "layout"},
    INFORM: {"offer": "named-last", "invented": "layout"},
    SILENT: {},
    SUCCESS: {"offer": "named-last", "given": "of-offer", "invented": "layout"},
    "log_consistency": {"offer": "named-or-query", "cut": "whole-part"},
    "log_only": {"offer": "named-or-query", "cut": "whole-part"},
    "booking": {"tried-first": "right"},
}
"""The choices in the definitions of scores, in the form of signatures."""


def grounded_columns(lexicalized: bool) -> tuple[str, ...]:
    """Return the columns of grounded counts.

    Delexicalized responses have only counts of bookings.
    """
    of_words = (*MENTIONS.columns, *GOALS.columns, *LOG.columns) if lexicalized else ()
    return (*of_words, *BOOKINGS.columns, BY_CALLS)


def booking_source(sums: Mapping[str, float], *, predicted_states: bool) -> str | None:
    """Return the source of the bookings: `calls`, `states`, or `mixed` if dialogues have different
    sources. The result is None if no dialogue has a source.
    """
    if by_calls := sums[BY_CALLS]:
        return "calls" if by_calls == sums[f"booking_goals.{WHOLE}"] else "mixed"
    return "states" if predicted_states else None


def grounded_row(grounded: Grounded, log: Iterable[CheckedMention] = ()) -> dict[str, float]:
    """Return the counts of a dialogue's claims. `log` has the mentions compared with the log."""
    mentions, of_log = (
        Counter((checked.mention.slot, checked.known, checked.agrees) for checked in source)
        for source in (grounded.checked, log)
    )
    return {
        **MENTIONS.row(
            _by_slot(
                (slot, (True, not known, agrees is not None, agrees is True), times)
                for (slot, known, agrees), times in mentions.items()
            )
        ),
        **GOALS.row(_goal_outcomes(grounded)),
        **LOG.row(
            _by_slot(
                (slot, (True, agrees, agrees and known is not None, agrees and known is False), n)
                for (slot, known, agrees), n in of_log.items()
            )
        ),
    }


def _by_slot(counted: Iterable[tuple[str, Sequence[bool | None], int]]) -> dict[str, list[int]]:
    """Return sums, in total and by slot, of tuples (slot, flags of the counts, amount to add)."""
    sums: defaultdict[str, list[int]] = defaultdict(lambda: [0] * 4)
    for slot, applies, times in counted:
        for scope in (WHOLE, slot):
            sums[scope] = [
                n + times * bool(holds) for n, holds in zip(sums[scope], applies, strict=True)
            ]
    return sums


def _goal_outcomes(grounded: Grounded) -> dict[str, tuple[int, bool, bool, bool]]:
    """Return the counts of the whole goal and of each domain, in the order of `GOALS`."""
    silent = judge(grounded.goal, ()).scopes
    return {
        scope: (1, result.inform, silent[scope].inform, bool(result.success))
        for scope, result in grounded.outcome.scopes.items()
    }


def booking_row(right: Mapping[str, bool], *, by_calls: bool) -> dict[str, float]:
    """Return the numbers of bookings and of `right` bookings in a goal, by domain."""
    if not right:
        return {}
    counted = {scope: (1, of_scope) for scope, of_scope in right.items()}
    counted[WHOLE] = (1, all(right.values()))
    return {**BOOKINGS.row(counted), BY_CALLS: by_calls}


def grounded_measures(
    sums: Mapping[str, float], sign: Sign, *, bookings: str | None
) -> Iterator[Measure]:
    """Yield the scores as measures in the order of a report, without scores that have no cases.

    `bookings` is the source of the bookings, or None.
    """
    lexicalized = MENTIONS.columns[0] in sums
    if lexicalized:
        yield from GOALS.measures(sums, sign)
    if bookings:
        yield from BOOKINGS.measures(sums, sign)
    if lexicalized:
        yield from MENTIONS.measures(sums, sign)
        yield from LOG.measures(sums, sign)


def grounded_view(
    sums: Mapping[str, float], values: Mapping[str, Mapping[str, float]], *, bookings: str | None
) -> dict[str, Any]:
    """Return the scores for a report from `values` by name and scope.

    The grounded scores are percentages by scope, with the number of `mentions`; a score that was
    not computed is None. If there is a log of tools, three numbers of claims are added: compared
    with the log, contradicted by the log, and supported by tools but not by the database.
    """
    plain: dict[str, Any] = dict.fromkeys(("mentions", *OF_WORDS, "booking"))
    if MENTIONS.columns[0] in sums:
        counts = {scope: int(sums[f"mentions.{scope}"]) for scope in MENTIONS.scopes}
        plain["mentions"] = {scope: n for scope, n in counts.items() if n or scope == WHOLE}
        plain |= {name: values.get(name, {}) for name in OF_WORDS}
    if logged := int(sums.get(f"logged.{WHOLE}", 0)):
        right = int(sums[f"logged_right.{WHOLE}"])
        plain |= {name: values.get(name, {}) for name in BY_LOG}
        plain["log"] = {
            "claims": logged,
            "contradicts_tools": logged - right,
            "only_tools": int(sums[f"logged_only.{WHOLE}"]),
        }
    if bookings:
        plain["booking"] = values.get("booking", {})
    return plain


SAYS = "says"
"""Label of the facts that show the mentions in a turn's response."""


@dataclass(frozen=True, slots=True)
class Words:
    """A dialogue with lexicalized responses, their judged mentions, and the data for the judgment.

    `constraints` are the goal's constraints by domain.
    """

    grounded: Grounded
    database: Database
    constraints: Mapping[str, Mapping[str, str]]
    claims: Sequence[Claim]

    def reasons(self) -> Iterator[Reason]:
        """Yield the failure reasons of Grounded Inform by domain, or else of Grounded Success."""
        outcome = self.grounded.outcome
        for domain, result in outcome.domains.items():
            if not outcome.inform:
                if not result.inform:
                    yield self._uninformed(domain)
            else:
                for slot in sorted(result.missing):
                    yield self._unsaid(domain, slot)

    def turn_facts(self, turn: int) -> Iterator[Fact]:
        """Yield facts about the mentions and about the false claims in a turn."""
        read: dict[str | None, list[str]] = {}
        for mention in self.grounded.turns[turn].mentions:
            words = " ".join(mention.text.split())
            read.setdefault(mention.domain, []).append(f"{mention.slot} {words}")
        for domain, values in read.items():
            yield Fact(SAYS, "; ".join(values), domain)
        for claim in self.claims:
            if claim.turn == turn and claim.is_flagged:
                yield Fact(claim.verdict, claim.line(), claim.domain)

    def _uninformed(self, domain: str) -> Reason:
        named = self.grounded.named.get(domain)
        if named is None:
            return reason("named-nothing", INFORM, domain, None, {})
        offered = self.grounded.outcome.domains[domain].offered
        if INVENTED in offered:
            unknown = [
                mention.text
                for mention in self.grounded.turns[named.turn].mentions
                if mention.domain == domain
                and mention.slot == NAMED_BY[domain]
                and not mention.venues
            ]
            return reason("named-unknown", INFORM, domain, named.turn, {"said": ", ".join(unknown)})
        satisfying = self.grounded.goal[domain].satisfying
        wrong = [venue for venue in offered if venue not in satisfying]
        constraints = self.constraints.get(domain, {})
        without = unmet(
            domain, constraints, self.database, lambda found: not set(wrong) <= {*found}
        )
        words = {"said": self._called(domain, wrong), "unmet": without}
        return reason("named-wrong", INFORM, domain, named.turn, words)

    def _unsaid(self, domain: str, slot: str) -> Reason:
        name = PROVIDABLE[slot]
        if name == "reference":
            early = [
                turn
                for turn, words in enumerate(self.grounded.turns)
                for mention in words.mentions
                if mention.slot == name and mention.domain in (domain, None)
            ]
            if early and domain in NAMED_BY:
                return reason("said-before-booked", SUCCESS, domain, early[-1], {}, name)
            return reason("never-said", SUCCESS, domain, None, {}, name)
        venues = self.grounded.outcome.domains[domain].offered
        venues = venues or tuple(sorted(self.grounded.goal[domain].satisfying))
        misled = [c for c in self.grounded.checked if _misleads(c, domain, name, venues)]
        if not misled:
            return reason("never-said", SUCCESS, domain, None, {}, name)
        facts = self.database.facts
        right = [value for venue in venues for value in facts.values(domain, venue, name)]
        words = {
            "said": misled[-1].mention.text,
            "venue": self._called(domain, venues),
            "right": listed(right[:SHOWN]),
        }
        return reason("said-wrong", SUCCESS, domain, misled[-1].turn, words, name)

    def _called(self, domain: str, venues: Sequence[str]) -> str:
        return listed([self.database.facts.name(domain, venue) for venue in venues], "no venue")


def _misleads(checked: CheckedMention, domain: str, slot: str, venues: Sequence[str]) -> bool:
    """Return whether a value is assigned to these venues although they do not have the value.

    A correct value of another venue in a list, or before the user's choice, does not count.
    """
    mention = checked.mention
    if mention.slot != slot or mention.domain not in (domain, None):
        return False
    of_these = not checked.offered or not set(venues).isdisjoint(checked.offered)
    return of_these and (not checked.known or checked.agrees is False)
