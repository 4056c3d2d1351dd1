"""User goals, some with unsatisfiable first constraints, and their descriptions in English."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from mwzeval.multiwoz.schema import DAYS
from tools.samples.common import Dice
from tools.samples.multiwoz.world import SLOTS, TOWN, TOWNS, VENUES, find, joined, phrases

SEARCHED = {
    "restaurant": ("food", "pricerange", "area"),
    "hotel": ("type", "pricerange", "area", "stars", "internet", "parking"),
    "attraction": ("type", "area"),
}
EXTRAS = ("internet", "parking")
ASKED = {
    "restaurant": ("phone", "address", "postcode"),
    "hotel": ("phone", "address", "postcode"),
    "attraction": ("phone", "address", "postcode", "entrancefee"),
    "train": ("trainid", "duration", "price"),
    "taxi": ("type", "phone"),
}


@dataclass
class Goal:
    """The goal in a domain.

    `first_info` and `first_book` are values that the user asks for first and that are not available
    ("fail_info", "fail_book" of MultiWOZ); `regretted` are available values that the user replaces.
    """

    domain: str
    info: dict[str, str]
    reqt: tuple[str, ...] = ()
    book: dict[str, str] = field(default_factory=dict)
    first_info: dict[str, str] = field(default_factory=dict)
    first_book: dict[str, str] = field(default_factory=dict)
    regretted: dict[str, str] = field(default_factory=dict)
    indifferent: str = ""


def make_goals(domains: Sequence[str], dice: Dice) -> list[Goal]:
    """Return a goal per domain; all bookings are for the same people and day."""
    goals: list[Goal] = []
    people, day = str(dice.number(2, 8)), dice.pick(DAYS)
    for domain in domains:
        if domain == "train":
            goals.append(_train_goal(people, day, dice))
        elif domain == "taxi":
            goals.append(_taxi_goal(goals, dice))
        else:
            goals.append(_venue_goal(domain, people, day, dice))
    return goals


def _venue_goal(domain: str, people: str, day: str, dice: Dice) -> Goal:
    target, searched = dice.pick(VENUES[domain]), SEARCHED[domain]
    count = {"restaurant": dice.number(2, 3), "hotel": dice.number(2, 4), "attraction": 2}[domain]
    if domain == "attraction" and dice.chance(0.4):
        count = 1
    chosen = dice.mixed(searched)[:count]
    if domain == "hotel":
        # No goal has a hotel without parking.
        chosen = [slot for slot in chosen if target[slot] != "no"] or ["area"]
    goal = Goal(domain, {slot: target[slot] for slot in searched if slot in chosen})
    if dice.chance(0.15):
        goal.info = {"name": target["name"]}
    if domain != "attraction" and dice.chance(0.55):
        goal.book = {"bookpeople": people, "bookday": day}
        if domain == "hotel":
            slot, value = "bookstay", dice.number(2, 4)
            available, first = str(value), str(value + 1)
        else:
            slot, value = "booktime", dice.number(11 * 4 + 2, 20 * 4)
            available, first = clock(value * 15), clock((value + 4) * 15)
        goal.book[slot] = available
        if dice.chance(0.35):
            goal.first_book = {slot: first}
    if not goal.book or dice.chance(0.35):
        goal.reqt = _requested(domain, dice)
    if "name" not in goal.info:
        _complicate(goal, dice)
    return goal


def _requested(domain: str, dice: Dice) -> tuple[str, ...]:
    return tuple(sorted(dice.mixed(ASKED[domain])[: dice.number(1, 3)]))


def _complicate(goal: Goal, dice: Dice) -> None:
    """Add an unsatisfiable first value, a later change, or dontcare for a slot."""
    luck = dice.number(1, 100)
    changeable = [s for s in goal.info if s in ("food", "area", "type", "pricerange", "stars")]
    slot = dice.pick(changeable)
    values = {venue[slot] for venue in VENUES[goal.domain]} - {goal.info[slot]}
    for value in dice.mixed(sorted(values)):
        possible = bool(find(goal.domain, {**goal.info, slot: value}))
        if luck <= 35 and not possible:
            goal.first_info = {slot: value}
            return
        if 35 < luck <= 60 and possible:
            goal.regretted = {slot: value}
            return
    left = [s for s in SEARCHED[goal.domain] if s in ("area", "pricerange", "food")]
    left = [s for s in left if s not in goal.info]
    if left and luck <= 90:
        goal.indifferent = dice.pick(left)


def _train_goal(people: str, day: str, dice: Dice) -> Goal:
    ends = (TOWN, dice.pick(TOWNS)) if dice.chance(0.5) else (dice.pick(TOWNS), TOWN)
    info = {"departure": ends[0], "destination": ends[1], "day": day}
    train = dice.pick(find("train", info)[1:4])
    slot, later = ("leaveat", 0) if dice.chance(0.5) else ("arriveby", 1)
    hours, minutes = map(int, train[slot].split(":"))
    info[slot] = clock((hours * 4 + minutes // 15 + later) * 15)
    if dice.chance(0.55):
        return Goal("train", info, book={"bookpeople": people})
    return Goal("train", info, reqt=_requested("train", dice))


def _taxi_goal(goals: Sequence[Goal], dice: Dice) -> Goal:
    """Return a ride between venues of two earlier domains or between given places."""
    info = {"leaveat" if dice.chance(0.5) else "arriveby": clock(dice.number(9 * 4, 22 * 4) * 15)}
    if not goals:
        info["departure"] = dice.pick(VENUES["attraction"])["name"]
        info["destination"] = dice.pick(VENUES["restaurant"])["name"]
    for goal in goals:
        if "booktime" in goal.book:
            info = {"arriveby": goal.book["booktime"]}
    return Goal("taxi", info, reqt=ASKED["taxi"])


def clock(minute: int) -> str:
    """Return a time of day such as "17:05"."""
    return f"{minute // 60 % 24:02d}:{minute % 60:02d}"


def described(goal: Goal) -> list[str]:
    """Return a goal as sentences, with values emphasised in HTML as in the public files."""

    def phrase(kind: str, slot: str, value: str) -> str:
        shown = f"free {slot}" if slot in EXTRAS else value
        return phrases("goal", kind, slot)[0].format(_stress(shown))

    lines = [f"You want to find {_stress(phrases('goal', 'sought', goal.domain)[0])}"]
    if "name" in goal.info:
        lines[0] += f" called {_stress(goal.info['name'])}"
    wanted = {**goal.info, **goal.first_info, **goal.regretted}
    # Free amenities come last.
    order = sorted(wanted, key=EXTRAS.__contains__)
    if wishes := [phrase("wish", slot, wanted[slot]) for slot in order if slot != "name"]:
        lines.append(f"It should {joined(wishes)}")
    for begin, slots in (
        ("If nothing like that exists, it may", goal.first_info),
        ("After the first suggestion you change your mind: it should", goal.regretted),
    ):
        lines += [f"{begin} {phrase('wish', slot, goal.info[slot])}" for slot in slots]
    if goal.indifferent:
        lines.append(f"You do not care about the {_stress(goal.indifferent)}")
    if goal.book:
        first = {**goal.book, **goal.first_book}
        details = joined([phrase("booking", slot, value) for slot, value in first.items()])
        lines.append(f"Book it for {details} and ask for the {_stress('reference')}")
    changed = [phrase("booking", slot, goal.book[slot]) for slot in goal.first_book]
    lines += [f"If that is not possible, take {booking}" for booking in changed]
    if goal.reqt:
        lines.append(f"Find out the {joined([_stress(SLOTS[slot][2]) for slot in goal.reqt])}")
    return lines


def _stress(text: str) -> str:
    return f"<span class='emphasis'>{text}</span>"
