"""The focus tracker: new evidence replaces older evidence in proportion to its probability.

Each act is interpreted once (`UserMeaning`, `SystemMeaning`), and the interpretation is kept.

Source: the published program, as described in the specification of the benchmark; "legacy" marks
what it loses on the way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass

from mwzeval.pydial.dialogue.acts import AFFIRM, DONTCARE, NEGATE, NONE, Act, Item
from mwzeval.pydial.dialogue.belief import Belief
from mwzeval.pydial.dialogue.domain import METHODS, NAME, Domain, Ontology

THIS = "this"
"""The slot of a value that was given without one: whatever was just talked about."""
BARE_ACTS = frozenset(
    {
        "affirm", "negate", "repeat", "bye", "reqalts", "hello", "thankyou", "ack", "reqmore",
        "restart", "silence", "help",
    }
)  # fmt: skip
"""Acts that mean something beside the values they carry."""
INFORMING = BARE_ACTS | {"request", "inform", "select"}
DISCOURSE_ORDER = ("silence", "repeat", "thankyou", "ack", "hello", "bye")


@dataclass(frozen=True, slots=True)
class UserMeaning:
    """What a hypothesis says: values by slot (perhaps of `this`), slots it asks for, its method.

    `this` tells that it has no preference about whatever was just talked about; where that is
    nothing, `method_without_this` counts. A method is one of `METHODS`, or "asks" for a question
    that is about the last offer if there was one. `affirms` tells that it says yes.
    """

    informed: tuple[tuple[str, str], ...]
    this: bool
    requested: tuple[str, ...]
    method: str
    method_without_this: str
    discourse_act: str
    affirms: bool


@dataclass(frozen=True, slots=True)
class SystemMeaning:
    """What the last system act makes of the next user act.

    `this` is the slot that a value without a slot is of. `affirmed` is what a bare "yes" says,
    `negated` what a bare "no" says, `confirmed` the pair asked to be confirmed. `offered` is a
    name, `cannot_help` tells that nothing was found, `informed` are the slots it gave values of.
    """

    this: str | None = None
    affirmed: Act | None = None
    negated: Act | None = None
    confirmed: tuple[str, str] | None = None
    offered: str | None = None
    cannot_help: bool = False
    informed: frozenset[str] = frozenset()


def user_meaning(act: Act, ontology: Ontology, *, legacy: bool) -> UserMeaning:
    """Return what a user act tells the tracker.

    In `legacy` a correction to or from "dontcare" (`deny(area="north",area="dontcare")`) is lost.
    """
    pairs = [_normalised(item) for item in act.items]
    bare = {act.name} if act.name in BARE_ACTS else set()
    informs: list[tuple[str, str]] = []
    requested: list[str] = []
    denies = False
    if act.name == "deny" and not pairs:
        bare = {"negate"}
    elif act.name == "deny":
        denies = any(slot in ontology.informable for slot, _ in pairs)
        lost = legacy and any(value == DONTCARE for _, value in pairs)
        if len(pairs) == 2 and pairs[0][0] == pairs[1][0] and not lost:
            informs = _known(pairs[1:], ontology)
    elif act.name == "confirm":
        requested = [slot for slot, _ in _known(pairs, ontology) if slot != THIS]
    elif act.name in INFORMING:
        informs = _known(pairs, ontology)
        if act.name == "request":
            requested = [slot for slot, value in pairs if value is None]
    informed = dict(informs)
    this = informed.pop(THIS, None) is not None
    asks = bool(requested)
    return UserMeaning(
        informed=tuple(informed.items()),
        this=this,
        requested=tuple(dict.fromkeys(requested)),
        method=_method(bare, informed, this, denies, asks),
        method_without_this=_method(bare, informed, False, denies, asks),
        discourse_act=next((tag for tag in DISCOURSE_ORDER if tag in bare), "none"),
        affirms="affirm" in bare,
    )


def _normalised(item: Item) -> tuple[str, str | None]:
    if item.slot:
        return item.slot, None if item.negated else item.value
    return (THIS if item.value == DONTCARE else "type"), item.value


def _known(pairs: Iterable[tuple[str, str | None]], ontology: Ontology) -> list[tuple[str, str]]:
    return [
        (slot, value)
        for slot, value in pairs
        if value is not None and (slot == THIS or slot in ontology.informable)
    ]


def _method(bare: set[str], informed: dict[str, str], this: bool, denies: bool, asks: bool) -> str:
    if "reqalts" in bare:
        return "byalternatives"
    if "bye" in bare:
        return "finished"
    if informed or this:
        return "byname" if NAME in informed else "byconstraints"
    if "restart" in bare:
        return "restart"
    return "asks" if asks and not denies else "none"


def system_meaning(act: Act, ontology: Ontology, *, legacy: bool) -> SystemMeaning:
    """Return what a system act tells the tracker."""
    items = act.items
    if act.name == "request" and len(items) >= 1:
        slot = items[0].slot
        yes, no = (Act("inform", (Item(slot, value),)) for value in ("1", "0"))
        if slot not in ontology.binary_slots:
            return SystemMeaning(this=slot)
        return SystemMeaning(this=slot, affirmed=yes, negated=no)
    if act.name == "confirm" and len(items) >= 1 and items[0].value is not None:
        slot, value = items[0].slot, items[0].value
        affirmed = Act("inform", (Item(slot, value),)) if len(items) == 1 else None
        this = None if legacy else slot
        return SystemMeaning(this=this, affirmed=affirmed, confirmed=(slot, value))
    if act.name == "select" and items:
        return SystemMeaning(this=None if legacy else items[-1].slot)
    if act.name == "inform":
        return _informing(items)
    return SystemMeaning()


def _informing(items: tuple[Item, ...]) -> SystemMeaning:
    names = [item.value for item in items if item.slot == NAME and not item.negated]
    cannot_help = NONE in names
    return SystemMeaning(
        offered=names[-1] if names and not cannot_help else None,
        cannot_help=cannot_help,
        informed=frozenset()
        if cannot_help
        else frozenset(
            item.slot for item in items if item.value not in (None, NONE) and item.slot != NAME
        ),
    )


Hypotheses = Sequence[tuple[Act, float]]
POSITION = {method: index for index, method in enumerate(METHODS)}
NO_METHOD = POSITION["none"]
BY_NAME = POSITION["byname"]
REMEMBERED = 2**15


class Tracker:
    """Keeps the belief of one dialogue after the other.

    In `legacy`, a value without a slot is only understood after a request (elsewhere it still makes
    the method "byconstraints"), the method "none" keeps a mass that nothing feeds, and that an
    offer was made is remembered across dialogues.
    """

    def __init__(self, domain: Domain, *, legacy: bool = False) -> None:
        self.ontology = domain.ontology
        self.legacy = legacy
        self.belief = Belief(domain.ontology)
        self.offered_before = False
        self._requestable = frozenset(domain.ontology.requestable)
        self._user: dict[Act, UserMeaning] = {}
        self._system: dict[Act, SystemMeaning] = {}

    def sibling(self) -> Tracker:
        """Return a tracker of other dialogues that shares what is known about acts."""
        other = copy(self)
        other.belief = Belief(self.ontology)
        other.offered_before = False
        return other

    def begin(self) -> None:
        """Start a dialogue."""
        self.belief.begin()
        if not self.legacy:
            self.offered_before = False

    def update(self, last: Act, hypotheses: Hypotheses) -> Belief:
        """Take in what the user may have said after a system act; return the belief, as it is now.

        Scores are taken in proportion: they need not sum up to 1.
        """
        belief = self.belief
        system = self._system_meaning(last)
        self._remember(system)
        total = sum(score for _, score in hypotheses) or 1.0
        goals: dict[str, dict[str, float]] = {}
        methods = [0.0] * len(METHODS)
        discourse_acts: dict[str, float] = {}
        requested: dict[str, float] = {}
        for act, raw in hypotheses:
            score = raw / total
            if not act.items:
                act = self._in_context(act, system)
            meaning = self._user.get(act) or self._user_meaning(act)
            method = meaning.method
            for slot, value in meaning.informed:
                _add(goals, slot, value, score)
            if meaning.this:
                if system.this in belief.slots:
                    if system.this not in dict(meaning.informed):
                        _add(goals, system.this or "", DONTCARE, score)
                elif not self.legacy:
                    method = meaning.method_without_this
            if meaning.affirms and system.confirmed:
                slot, value = system.confirmed
                if slot in belief.slots and slot not in dict(meaning.informed):
                    _add(goals, slot, value, score)
            for slot in meaning.requested:
                requested[slot] = requested.get(slot, 0.0) + score
            if method == "asks":
                index = BY_NAME if self.offered_before else NO_METHOD
            else:
                index = POSITION[method]
            methods[index] += score
            said = meaning.discourse_act
            discourse_acts[said] = discourse_acts.get(said, 0.0) + score
        for slot, scores in goals.items():
            belief.slots[slot].update(scores)
        if goals:
            belief.revision += 1
        self._update_methods(methods)
        belief.discourse_acts = discourse_acts
        self._update_requested(requested, system)
        return belief

    def _in_context(self, act: Act, system: SystemMeaning) -> Act:
        if act == AFFIRM:
            return system.affirmed or act
        if act == NEGATE:
            return system.negated or act
        return act

    def _remember(self, system: SystemMeaning) -> None:
        belief = self.belief
        belief.nothing_found = system.cannot_help
        belief.offered = system.offered is not None
        if system.cannot_help:
            belief.offered_since_none = []
        if system.offered is not None:
            belief.last_offered = system.offered
            belief.offered_since_none.append(system.offered)
            self.offered_before = True

    def _update_methods(self, heard: list[float]) -> None:
        if heard[NO_METHOD] == 1.0:
            return
        kept = min(1.0, max(0.0, heard[NO_METHOD]))
        methods = [kept * old + new for old, new in zip(self.belief.methods, heard, strict=True)]
        if self.legacy:
            methods[NO_METHOD] = self.belief.methods[NO_METHOD]
            total = sum(methods)
            if total > 1.0:
                methods = [mass / total for mass in methods]
        else:
            methods[NO_METHOD] = max(0.0, 1.0 - sum(methods[NO_METHOD + 1 :]))
        self.belief.methods = methods

    def _update_requested(self, heard: dict[str, float], system: SystemMeaning) -> None:
        old = self.belief.requested
        if not old and not heard:
            return
        requested = {slot: p for slot, p in old.items() if slot not in system.informed}
        for slot, score in heard.items():
            if slot in self._requestable:
                requested[slot] = min(1.0, requested.get(slot, 0.0) + score)
        self.belief.requested = requested

    def _user_meaning(self, act: Act) -> UserMeaning:
        if len(self._user) >= REMEMBERED:
            self._user.clear()
        meaning = self._user[act] = user_meaning(act, self.ontology, legacy=self.legacy)
        return meaning

    def _system_meaning(self, act: Act) -> SystemMeaning:
        meaning = self._system.get(act)
        if meaning is None:
            if len(self._system) >= REMEMBERED:
                self._system.clear()
            meaning = self._system[act] = system_meaning(act, self.ontology, legacy=self.legacy)
        return meaning


def _add(goals: dict[str, dict[str, float]], slot: str, value: str, score: float) -> None:
    of_slot = goals.setdefault(slot, {})
    of_slot[value] = of_slot.get(value, 0.0) + score
