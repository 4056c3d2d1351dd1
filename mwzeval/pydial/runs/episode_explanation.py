"""Why an episode failed, as far as its file tells: the goal and what was told, and how it ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mwzeval.errors import shorten
from mwzeval.pydial.dialogue.ontology import NAME
from mwzeval.pydial.runs.episode_files import Record
from mwzeval.scores.explanation import Explanation, Fact, Reason, TurnView, Utterance
from mwzeval.scores.score import WHOLE

SUCCESS = "success"
OUT_OF_TIME, ENDED = "out-of-time", "ended-without-success"
NO_OFFER, UNANSWERED, WRONG_OFFER = "no-offer", "unanswered", "wrong-offer"
REASON_CODES = frozenset({OUT_OF_TIME, ENDED, NO_OFFER, UNANSWERED, WRONG_OFFER})


def explain(record: Record) -> Explanation:
    """Return what became of an episode, and why it failed if it did."""
    episode = record.episode
    return Explanation(
        unit=episode.unit,
        outcomes={WHOLE: {SUCCESS: episode.success}},
        goal=tuple(_goal(record)),
        turns=tuple(_turn(turn) for turn in record.turns),
        reasons=() if episode.success else tuple(_reasons(record)),
    )


def _goal(record: Record) -> Iterator[Fact]:
    for slot, sign, value in record.constraints or ():
        yield Fact("wants", f"{slot} {sign} {value}")
    for slot, told in (record.requests or {}).items():
        yield Fact("asks for", f"{slot} → {'not told' if told is None else told}")
    yield Fact("exchanges", str(record.episode.exchanges))
    yield Fact("reward", f"{record.episode.reward:g}")


def _turn(raw: Mapping[str, Any]) -> TurnView:
    said = (Utterance(who, str(raw[who])) for who in ("system", "user") if raw.get(who) is not None)
    heard = raw.get("heard") or []
    facts = (Fact("heard", shorten(_hypotheses(heard), 300)),) if heard else ()
    return TurnView(tuple(said), facts)


def _hypotheses(heard: Any) -> str:
    if not isinstance(heard, list):
        return str(heard)
    return "; ".join(
        f"{each[0]} {_confidence(each[1])}"
        if isinstance(each, list) and len(each) == 2
        else str(each)
        for each in heard
    )


def _confidence(value: Any) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def _reasons(record: Record) -> Iterator[Reason]:
    def reason(code: str, text: str) -> Reason:
        return Reason(code, SUCCESS, WHOLE, None, text)

    exchanges = record.episode.exchanges
    requests = record.requests
    late = record.out_of_time or exchanges >= record.task.max_exchanges
    if late:
        yield reason(OUT_OF_TIME, f"it was not reached within {exchanges} exchanges")
    if requests is None:
        if not late:
            yield reason(ENDED, f"somebody said goodbye after {exchanges} exchanges")
    elif requests.get(NAME) is None:
        yield reason(NO_OFFER, "nothing was offered, or the last offer was taken back")
    else:
        missing = [slot for slot, told in requests.items() if told is None]
        for slot in missing:
            yield reason(f"{UNANSWERED}:{slot}", f"{slot} was never told")
        if not missing:
            name = requests[NAME]
            yield reason(WRONG_OFFER, f"{name} does not satisfy what was wanted in the end")
