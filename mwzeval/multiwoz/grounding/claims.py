"""What a dialogue in words claims, one record each, as database and log have judged it.

A claim is what Hallucination and Consistency count, what the log of tools tells something about,
and what could be held against either, but nothing tells: a taxi's number, a reference without a
log. What is asked, wished or denied is none. Definitions are in `docs/metrics.md`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mwzeval.multiwoz.database.facts import TIMES, VenueFacts
from mwzeval.multiwoz.grounding.evidence import LogClaim
from mwzeval.multiwoz.grounding.responses import CHECKED, CHOICES, FEW, Grounded, Judged
from mwzeval.multiwoz.grounding.statements import Statements
from mwzeval.multiwoz.schema import NAMED_BY
from mwzeval.multiwoz.words.text import LANDMARK, Mention
from mwzeval.scores.explanation import INCONSISTENT, RIGHT, UNJUDGED, UNKNOWN, VERDICTS, Claim

DATABASE, LOG = "database", "log"
NAMING = frozenset(NAMED_BY.values())
"""Slots that say which venue it is: there is nothing that they could agree with."""

BOOKED = "book"
"""How slots begin that say what is booked: `bookpeople`."""

_Place = tuple[int, int, int, str]


def claims_of(
    responses: Sequence[str],
    mentions: Sequence[Sequence[Mention]],
    grounded: Grounded,
    of_log: Sequence[LogClaim],
    facts: VenueFacts,
) -> tuple[Claim, ...]:
    """Return the claims of a dialogue in the order of its turns and their text.

    `responses` and `mentions` have one item a turn; `grounded` and `of_log` are what database and
    log say of them.
    """
    logged = {_place(claim.turn, claim.mention): claim for claim in of_log}
    claims = []
    read = set()
    for judged in grounded.judged:
        place = _place(judged.turn, judged.mention)
        read.add(place)
        claims.append(_claim(judged.turn, judged.mention, judged, logged.get(place), facts))
    found = {
        _place(turn, mention): mention for turn, said in enumerate(mentions) for mention in said
    }
    for place, claim in logged.items():
        if place not in read:
            read.add(place)
            mention = found.get(place, claim.mention)
            claims.append(_claim(claim.turn, mention, None, claim, facts))
    for turn, (response, said) in enumerate(zip(responses, mentions, strict=True)):
        claims += (
            _claim(turn, mention, None, None, facts)
            for mention in _open_claims(response, said)
            if _place(turn, mention) not in read
        )
    return tuple(sorted(claims, key=lambda claim: (claim.turn, claim.start, claim.end, claim.slot)))


def _place(turn: int, mention: Mention) -> _Place:
    return turn, mention.start, mention.end, mention.slot


def _open_claims(response: str, said: Sequence[Mention]) -> Iterator[Mention]:
    """Yield what is claimed of slots that no table has."""
    statements = None
    for mention in said:
        slot = mention.slot
        if slot == LANDMARK or slot in CHECKED.get(str(mention.domain), ()):
            continue
        is_choice = slot in CHOICES or slot.startswith(BOOKED)
        if is_choice or slot in TIMES:
            statements = statements or Statements(response)
            if not statements.is_claim(mention, (), choice=is_choice):
                continue
        yield mention


def _claim(
    turn: int,
    mention: Mention,
    judged: Judged | None,
    logged: LogClaim | None,
    facts: VenueFacts,
) -> Claim:
    """Return one claim as database (`judged`) and log have judged it, as far as they have."""
    read = judged.mention if judged else mention
    verdicts = {}
    if judged:
        verdicts[DATABASE] = _by_database(judged)
    if logged:
        verdicts[LOG] = RIGHT if logged.agrees else INCONSISTENT
    domain, offered = read.domain, judged.offered if judged else ()
    return Claim(
        turn=turn,
        start=read.start,
        end=read.end,
        text=read.text,
        domain=domain,
        slot=read.slot,
        value=read.value,
        venue=tuple(facts.name(str(domain), venue) for venue in offered[:FEW]),
        venues=len(offered),
        verdict=min(verdicts.values(), key=VERDICTS.index, default=UNJUDGED),
        right=_right(judged, logged, facts),
        held_against=tuple(verdicts),
        known=judged.known if judged else None,
        agrees=judged.agrees if judged else None,
        log_agrees=logged.agrees if logged else None,
    )


def _by_database(judged: Judged) -> str:
    if not judged.known:
        return UNKNOWN
    if judged.agrees is None:
        return RIGHT if judged.mention.slot in NAMING else UNJUDGED
    return RIGHT if judged.agrees else INCONSISTENT


def _right(judged: Judged | None, logged: LogClaim | None, facts: VenueFacts) -> tuple[str, ...]:
    """Return the first values of the venues, or what tools returned where only these disagree."""
    disagrees = logged is not None and not logged.agrees
    if judged is None or judged.agrees is None or (judged.agrees and disagrees):
        return logged.returned[:FEW] if logged and disagrees else ()
    if judged.counted:
        return tuple(map(str, judged.counted))
    domain, slot = str(judged.mention.domain), judged.mention.slot
    values = dict.fromkeys(
        value.removesuffix(".0")
        for venue in judged.offered
        for value in facts.values(domain, venue, slot)
    )
    return tuple(values)[:FEW]
