"""Inform, Success and BLEU of a system end to end, on the corpus' own dialogues.

They are judged by what the user would have ended with, had the system of a predictions file
answered. The user is the corpus' own, whatever the system says; so each sub-goal gets the last
venue that the system named while the user spoke of it, and the values that its acts or its words
tell. Simulated dialogues need none of this: their users say in their state what they have accepted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from mwzeval.crosswoz.corpus.acts import GENERAL, INFORM, RECOMMEND, REQUEST, SERVICE_PREFIX, Act
from mwzeval.crosswoz.corpus.database import Database
from mwzeval.crosswoz.corpus.dialogues import Dialogue, Exchange, Goal, SemanticTuple, Value
from mwzeval.crosswoz.corpus.names import (
    DEPARTURE,
    DESTINATION,
    FREE,
    LIST_SLOTS,
    NAME,
    NO,
    NOTHING,
    NUMBER_SLOTS,
    SERVICES,
    TICKET,
    TRAFFIC_DOMAINS,
    YES,
)
from mwzeval.crosswoz.corpus.normalization import comparable_text
from mwzeval.crosswoz.reading import Predicted
from mwzeval.crosswoz.scoring.scopes import ALL_AND_TYPES, Sign, TrackScores, rates
from mwzeval.crosswoz.scoring.success import Judgement, is_nothing, judge, plain
from mwzeval.crosswoz.scoring.text_scores import TextScores
from mwzeval.metrics.measure import Measure
from mwzeval.scores.score import WHOLE, Signature

DENIALS = re.compile("没有|没|无|不提供|不含|不包|不支持|暂未|不具备|不是")
"""How a sentence says that there is no such thing."""
AFFIRMATIONS = re.compile("有|提供|是的|可以|支持|能")
SENTENCES = re.compile(r"[。！？!?;；，,\n]")


def told_in(response: str, slot: str, held: object, *, asked: bool = False) -> Value:
    """Return the value that a response tells of a slot, as far as it is the database's `held`.

    "" when it does not: words that say something else are no answer. Services are told by a
    sentence part with their name, which may deny them; where they have just been `asked` for, a
    bare yes or no tells them, too.
    """
    if slot.startswith(SERVICE_PREFIX):
        told = _service(response, slot.removeprefix(SERVICE_PREFIX))
        return told or (_bare_answer(response) if asked else "")
    if is_nothing(held):
        return NOTHING if DENIALS.search(response) else ""
    if slot in LIST_SLOTS:
        items = held if isinstance(held, list | tuple) else ()
        text = comparable_text(response)
        return tuple(str(item) for item in items if comparable_text(str(item)) in text)
    if slot in NUMBER_SLOTS:
        return _number(response, slot, float(str(held)))
    return str(held) if plain(str(held)) in plain(response) else ""


def _service(response: str, service: str) -> str:
    name = comparable_text(service)
    for part in SENTENCES.split(response):
        if name in comparable_text(part):
            return NO if DENIALS.search(part.replace(service, "")) else YES
    return ""


def _bare_answer(response: str) -> str:
    if DENIALS.search(response):
        return NO
    return YES if AFFIRMATIONS.search(response) else ""


def _number(response: str, slot: str, held: float) -> str:
    if slot == TICKET and held == 0 and FREE in response:
        return FREE
    for match in re.finditer(r"[0-9]+(?:\.[0-9]+)?", comparable_text(response)):
        if float(match[0]) == held:
            return match[0]
    return ""


OUTCOMES = {"inform": "Inform", "success": "Success"}


class EndToEndScores(TrackScores):
    """Share of dialogues in which every venue is right, and of those with right answers, too.

    `texts` scores the responses. `by_acts` says whether the system's acts are predicted or only its
    words.
    """

    def __init__(self, database: Database, texts: TextScores, *, by_acts: bool = False) -> None:
        self._database, self._texts, self.by_acts = database, texts, by_acts
        self.main = ("e2e.inform", "e2e.success", *texts.main)
        self.columns = (*outcome_columns(ALL_AND_TYPES, *OUTCOMES), *texts.columns)

    def rows(
        self, gold: Mapping[str, Dialogue], predicted: Mapping[str, Sequence[Predicted]]
    ) -> dict[str, dict[str, float]]:
        """Return the numbers of each dialogue. Raises `DependencyError` without jieba."""
        of_texts = self._texts.rows(gold, predicted)
        return {n: row | of_texts[n] for n, row in super().rows(gold, predicted).items()}

    def row(self, gold: Dialogue, predicted: Sequence[Predicted]) -> dict[str, float]:
        """Return the outcomes of one dialogue."""
        judged = self.judgement(gold, predicted)
        scopes = (WHOLE, gold.goal_type)
        return outcome_row(scopes, inform=judged.inform, success=judged.success)

    def judgement(self, gold: Dialogue, predicted: Sequence[Predicted]) -> Judgement:
        """Return what is wrong with what a dialogue comes to."""
        return judge(gold.goal, outcome_of(gold, predicted, self._database), self._database)

    def measures(self, sign: Sign, sums: Mapping[str, float]) -> Iterator[Measure]:
        """Yield Inform, Success and BLEU-4, by goal type."""
        signature = sign("e2e", {"told": "acts" if self.by_acts else "text", "user": "corpus"})
        for kind, label in OUTCOMES.items():
            yield from outcome_rates(kind, label, signature, sums, ALL_AND_TYPES)
        yield from self._texts.measures(sign, sums)


def outcome_columns(scopes: Iterable[str], *kinds: str) -> tuple[str, ...]:
    """Return the columns of outcomes of dialogues, 0 or 1, by scope."""
    return tuple(f"e2e.{kind}@{scope}" for scope in scopes for kind in ("dialogues", *kinds))


def outcome_row(scopes: Iterable[str], **outcomes: bool) -> dict[str, float]:
    """Return the numbers of a dialogue that belongs to some scopes."""
    values = {"dialogues": True, **outcomes}
    return {f"e2e.{kind}@{scope}": float(v) for kind, v in values.items() for scope in scopes}


def outcome_rates(
    kind: str,
    label: str,
    signature: Signature,
    sums: Mapping[str, float],
    scopes: Iterable[str],
) -> Iterator[Measure]:
    """Yield the share of dialogues with an outcome in percent, by scope."""
    name = f"e2e.{kind}"
    return rates(name, label, signature, sums, scopes, name, "e2e.dialogues", is_outcome=True)


ENDS = (DEPARTURE, DESTINATION)


@dataclass(slots=True)
class _Told:
    """What the system has told about one sub-goal so far."""

    name: str = ""
    values: dict[str, list[str]] = field(default_factory=dict)
    ends: dict[str, str] = field(default_factory=dict)
    responses: list[tuple[str, frozenset[str]]] = field(default_factory=list)
    """What was said, and the slots that the user had just asked for."""


def outcome_of(gold: Dialogue, predicted: Sequence[Predicted], database: Database) -> Goal:
    """Return the lines of a dialogue's goal with what they come to through predictions.

    Ordinary constraints have their final values. Where the system's acts are predicted they say
    what it tells; otherwise its words do, as far as they hold what the database has.
    """
    told = {line.subgoal: _Told() for line in gold.goal}
    by_acts = False
    for number, subgoals in enumerate(subgoals_by_exchange(gold)):
        said = predicted[number]
        by_acts = by_acts or said.system_acts is not None
        following = gold.exchanges[number + 1 :]
        for domain, subgoal in subgoals.items():
            asked = frozenset(
                act.slot
                for act in gold.exchanges[number].user.acts
                if act.intent == REQUEST and act.domain == domain
            )
            _take(told[subgoal], domain, said, asked, following[0] if following else None)
    pairs = zip(gold.goal, gold.final_goal, strict=True)
    names = {line.subgoal: line.value for line in gold.final_goal if line.slot == NAME}
    for subgoal, of in told.items():
        # A user who has named the venue needs not be told.
        wanted = next((w for w in gold.goal if (w.subgoal, w.slot) == (subgoal, NAME)), None)
        if wanted is not None and wanted.value and not wanted.refers and not of.name:
            of.name = str(names[subgoal])
    return tuple(
        _final(wanted, final, told[wanted.subgoal], database, by_acts=by_acts)
        for wanted, final in pairs
    )


def subgoals_by_exchange(gold: Dialogue) -> Iterator[Mapping[str, int]]:
    """Yield for each exchange which sub-goals the user speaks of, by domain.

    A domain stands for the last of its sub-goals that the user has begun to express; without acts
    about any domain the user still speaks of what came before.
    """
    before: dict[str, int] = {}
    for exchange in gold.exchanges:
        begun: dict[str, int] = {}
        for line in exchange.user.state:
            if line.expressed:
                begun[line.domain] = max(line.subgoal, begun.get(line.domain, 0))
        domains = dict.fromkeys(a.domain for a in exchange.user.acts if a.intent != GENERAL)
        now = {domain: begun[domain] for domain in domains if domain in begun}
        before = now or before
        yield before


def _take(
    told: _Told, domain: str, said: Predicted, asked: frozenset[str], following: Exchange | None
) -> None:
    if said.response:
        told.responses.append((said.response, asked))
    state = (said.state or {}).get(domain, {})
    if domain in TRAFFIC_DOMAINS:
        told.ends |= {end: state[end] for end in ENDS if state.get(end)}
    if said.system_acts is None:
        names = spoken_names(said.response or "", (said.selected or {}).get(domain, ()))
    else:
        names = [act.value for act in said.system_acts if _names(act, domain)]
        for act in said.system_acts:
            if act.intent == INFORM and act.domain == domain and act.slot != NAME:
                told.values.setdefault(act.slot, []).append(act.value)
    if names:
        heard = following.user.acts if following else ()
        wanted = [act.value for act in heard if _names(act, domain) and act.value in names]
        told.name = (wanted or names)[0]


def spoken_names(response: str, selected: Sequence[str]) -> list[str]:
    """Return the selected names that a response says, in their order.

    Of names within names (a restaurant and its branch) only the longest counts.
    """
    text = comparable_text(response)
    spoken = {name: comparable_text(name) for name in selected}
    found = [name for name, form in spoken.items() if form and form in text]
    return [
        name
        for name in found
        if not any(spoken[name] != spoken[o] and spoken[name] in spoken[o] for o in found)
    ]


def _names(act: Act, domain: str) -> bool:
    return act.intent in (INFORM, RECOMMEND) and act.slot == NAME and act.domain == domain


def _final(
    wanted: SemanticTuple, final: SemanticTuple, told: _Told, database: Database, *, by_acts: bool
) -> SemanticTuple:
    if wanted.domain in TRAFFIC_DOMAINS and wanted.slot in ENDS:
        return wanted.with_value(told.ends.get(wanted.slot, ""))
    if wanted.slot == NAME:
        return wanted.with_value(told.name)
    if wanted.value:
        return wanted.with_value(final.value)
    if by_acts:
        return wanted.with_value(_listed(wanted.slot, told.values.get(wanted.slot, [])))
    return wanted.with_value(_spoken(wanted, told, database))


def _listed(slot: str, values: Sequence[str]) -> Value:
    if not values:
        return ""
    if slot not in LIST_SLOTS:
        return values[-1]
    return NOTHING if values[-1] == NOTHING else tuple(v for v in values if v != NOTHING)


def _spoken(wanted: SemanticTuple, told: _Told, database: Database) -> Value:
    domain, slot = wanted.domain, wanted.slot
    if domain in TRAFFIC_DOMAINS:
        held: object = database.trip_facts(domain, told.ends).get(slot)
    else:
        venue = database.named(domain, told.name)
        record_slot = SERVICES if slot.startswith(SERVICE_PREFIX) else slot
        held = None if venue is None else venue.record.get(record_slot)
    for response, asked in reversed(told.responses):
        value = told_in(response, slot, held, asked=slot in asked)
        if value:
            return value
    return ""
