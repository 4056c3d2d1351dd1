"""Why Grounded Inform or Grounded Success was lost, and what of a turn's words was not so.

docs/reasons.md explains the kinds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mwzeval.multiwoz.database.facts import VenueFacts
from mwzeval.multiwoz.database.venues import Database
from mwzeval.multiwoz.grounding.responses import INVENTED, SAID_AS, Grounded, Judged
from mwzeval.multiwoz.reasons import reason
from mwzeval.multiwoz.schema import NAMED_BY
from mwzeval.multiwoz.words.text import Mention
from mwzeval.scores.explanation import Claim, Fact, Reason

INFORM, SUCCESS = "grounded_inform", "grounded_success"

SAYS = "says"
"""Label of the facts that tell what was read in the words of a turn."""

SHOWN_VENUES = 3
"""How many venues are named before the rest is left out."""


@dataclass(frozen=True, slots=True)
class Words:
    """A dialogue in words: what was made of it, and what it was judged by.

    `constraints` are what the goal says of each domain.
    """

    grounded: Grounded
    mentions: Sequence[Sequence[Mention]]
    booked: Sequence[frozenset[str]]
    facts: VenueFacts
    constraints: Mapping[str, Mapping[str, str]]
    database: Database
    claims: Sequence[Claim]

    def reasons(self) -> Iterator[Reason]:
        """Yield why Grounded Inform failed, domain by domain, or else why Grounded Success did."""
        outcome = self.grounded.outcome
        for domain, result in outcome.domains.items():
            if not outcome.inform:
                if not result.inform:
                    yield self._uninformed(domain)
            else:
                for slot in sorted(result.missing):
                    yield self._unsaid(domain, slot)

    def turn_facts(self, turn: int) -> Iterator[Fact]:
        """Yield what was read in a turn's words, and what is claimed there and is not so."""
        read: dict[str | None, list[str]] = {}
        for mention in self.mentions[turn]:
            words = " ".join(mention.text.split())
            read.setdefault(mention.domain, []).append(f"{mention.slot} {words}")
        for domain, values in read.items():
            yield Fact(SAYS, "; ".join(values), domain)
        for claim in self.claims:
            if claim.turn == turn and claim.is_flagged:
                yield Fact(claim.verdict, claim.told(), claim.domain)

    def outcomes(self) -> dict[str | None, dict[str, bool | None]]:
        """Return what was kept and lost, by domain; None stands for the whole dialogue."""
        outcome = self.grounded.outcome
        whole: dict[str, bool | None] = {INFORM: outcome.inform, SUCCESS: outcome.success}
        by_domain: dict[str | None, dict[str, bool | None]] = {None: whole}
        for domain, result in outcome.domains.items():
            by_domain[domain] = {INFORM: result.inform, SUCCESS: result.success}
        return by_domain

    def _uninformed(self, domain: str) -> Reason:
        named = self.grounded.named.get(domain)
        if named is None:
            return reason("named-nothing", INFORM, domain, None, {})
        offered = self.grounded.outcome.domains[domain].offered
        if INVENTED in offered:
            unknown = [
                mention.text
                for mention in self.mentions[named.turn]
                if mention.domain == domain
                and mention.slot == NAMED_BY[domain]
                and not mention.venues
            ]
            return reason("named-unknown", INFORM, domain, named.turn, {"said": ", ".join(unknown)})
        satisfying = self.grounded.goal[domain].satisfying
        wrong = [venue for venue in offered if venue not in satisfying]
        words = {"said": self._called(domain, wrong), "unmet": self._unmet(domain, wrong)}
        return reason("named-wrong", INFORM, domain, named.turn, words)

    def _unmet(self, domain: str, venues: Sequence[str]) -> str:
        """Return the constraints of the goal that not all of some venues satisfy."""
        unmet = [
            f"{slot}={value}"
            for slot, value in self.constraints.get(domain, {}).items()
            if not set(venues) <= set(self.database.find(domain, {slot: value}))
        ]
        return f" ({', '.join(unmet)})" if unmet else ""

    def _unsaid(self, domain: str, slot: str) -> Reason:
        name = SAID_AS.get(slot, slot.lower())
        if name == "reference":
            return self._unbooked(domain, name)
        venues = self.grounded.outcome.domains[domain].offered
        venues = venues or tuple(sorted(self.grounded.goal[domain].satisfying))
        said = [judged for judged in self.grounded.judged if _misled(judged, domain, name, venues)]
        if not said:
            return reason("never-said", SUCCESS, domain, None, {}, name)
        right = [value for venue in venues for value in self.facts.values(domain, venue, name)]
        words = {
            "said": said[-1].mention.text,
            "venue": self._called(domain, venues),
            "right": ", ".join(right[:SHOWN_VENUES]) or "unknown",
        }
        return reason("said-wrong", SUCCESS, domain, said[-1].turn, words, name)

    def _unbooked(self, domain: str, name: str) -> Reason:
        early = [
            turn
            for turn, of_turn in enumerate(self.mentions)
            for mention in of_turn
            if mention.slot == name and mention.domain in (domain, None)
        ]
        if early and domain in NAMED_BY:
            return reason("said-before-booked", SUCCESS, domain, early[-1], {}, name)
        return reason("never-said", SUCCESS, domain, None, {}, name)

    def _called(self, domain: str, venues: Sequence[str]) -> str:
        shown = [self.facts.name(domain, venue) for venue in venues[:SHOWN_VENUES]]
        return ", ".join([*shown, *(["…"] if len(venues) > SHOWN_VENUES else [])]) or "no venue"


def _misled(judged: Judged, domain: str, slot: str, venues: Sequence[str]) -> bool:
    """Tell whether a value was said of these venues and is not theirs.

    What was said rightly of another venue, in a list or before the user chose, is not.
    """
    mention = judged.mention
    if mention.slot != slot or mention.domain not in (domain, None):
        return False
    of_these = not judged.offered or not set(venues).isdisjoint(judged.offered)
    return of_these and (not judged.known or judged.agrees is False)
