"""What a dialogue act tells the tracker, worked out once for each act.

Source: the published program, as described in the specification of the benchmark; "legacy" marks
what it loses on the way.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mwzeval.pydial.dialogue.acts import DONTCARE, NONE, Act, Item
from mwzeval.pydial.dialogue.ontology import NAME, Ontology

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
