"""Five example systems and their predictions for the test fold."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tools.dice import Deck, Dice
from tools.multiwoz_sample.conversation import Dialogue, Exchange
from tools.multiwoz_sample.responses import Style, respond
from tools.multiwoz_sample.trackers import Belief, WeakTracker, gold_belief


@dataclass(frozen=True)
class System:
    """What a system is like.

    Of its dialogues, a share of `faulty` has one of the faults: nothing named, phone and reference
    withheld, or a tracker that is poor for once. `lost` and `confused` are the tracker's everyday
    errors per slot.
    """

    name: str
    style: Style
    faulty: float = 0.1
    lost: float = 0.0
    confused: float = 0.0
    states: bool = True
    active_domains: bool = True


SYSTEMS = (
    System("sample-good", Style("domain", 0.2)),
    System(
        "sample-weak-tracker", Style("domain", 0.2), lost=0.12, confused=0.12, active_domains=False
    ),
    System("sample-no-phone", Style("value", 0.2, silent=("phone",)), faulty=0.05),
    System("sample-policy-only", Style("bare", 0.15, tokenised=True), faulty=0.2, states=False),
    System("sample-lexicalized", Style("words", 0.25, chatty=True)),
)
_FAULTS = ("names nothing", "withholds", "loses track")


def predict(
    system: System, dialogues: list[Dialogue], seed: int
) -> dict[str, list[dict[str, Any]]]:
    """Return the predictions of a system: dialogue id, then turns."""
    deck = Deck(Dice(seed))
    predictions = {}
    for dialogue in dialogues:
        dice = Dice(seed * 1000 + int(dialogue.identity[3:]))
        fault = dice.pick(_FAULTS) if dice.chance(system.faulty) else ""
        badly = 0.4 if fault == "loses track" else 0.0
        tracker = WeakTracker(dice, system.lost + badly, system.confused + badly)
        predictions[dialogue.identity.lower()] = [
            _turn(system, exchange, fault, tracker.track, dice, deck)
            for exchange in dialogue.exchanges
        ]
    return predictions


def _turn(
    system: System,
    exchange: Exchange,
    fault: str,
    track: Callable[[Belief], Belief],
    dice: Dice,
    deck: Deck,
) -> dict[str, Any]:
    turn: dict[str, Any] = {"response": respond(exchange, system.style, fault, dice, deck)}
    if system.states:
        said = system.style.convention == "words"
        turn["state"] = track(gold_belief(exchange.state, as_said=said))
    if system.active_domains:
        turn["active_domains"] = [] if exchange.domain == "general" else [exchange.domain]
    return turn
