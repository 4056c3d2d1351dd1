"""What a user wants: goals that the town can satisfy, some of them not at first."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tools.dice import Dice
from tools.multiwoz_sample.world import DAYS, TOWN, TOWNS, Venue, World, clock, minutes

SEARCHED = {
    "restaurant": ("food", "pricerange", "area"),
    "hotel": ("type", "pricerange", "area", "stars", "internet", "parking"),
    "attraction": ("type", "area"),
}
ASKED = {
    "restaurant": ("phone", "address", "postcode"),
    "hotel": ("phone", "address", "postcode"),
    "attraction": ("phone", "address", "postcode", "entrancefee"),
    "train": ("trainid", "duration", "price"),
    "taxi": ("type", "phone"),
}


@dataclass(frozen=True)
class DomainGoal:
    """What is wanted in one domain.

    `first_info` and `first_book` are the values asked for first that cannot be had ("fail_info",
    "fail_book"); `regretted` are values the user takes back although they could be had.
    """

    domain: str
    info: Mapping[str, str]
    reqt: tuple[str, ...] = ()
    book: Mapping[str, str] = field(default_factory=dict)
    first_info: Mapping[str, str] = field(default_factory=dict)
    first_book: Mapping[str, str] = field(default_factory=dict)
    regretted: Mapping[str, str] = field(default_factory=dict)
    indifferent: str = ""


def make_goals(world: World, domains: tuple[str, ...], dice: Dice) -> tuple[DomainGoal, ...]:
    """Return one goal per domain; a group that books twice is the same people on the same day."""
    goals: list[DomainGoal] = []
    people, day = str(dice.number(2, 8)), dice.pick(DAYS)
    for domain in domains:
        if domain == "train":
            goals.append(_train_goal(world, people, day, dice))
        elif domain == "taxi":
            goals.append(_taxi_goal(world, goals, dice))
        else:
            target = dice.pick(world.venues[domain])
            goals.append(_venue_goal(world, target, people, day, dice))
    return tuple(goals)


def _venue_goal(world: World, target: Venue, people: str, day: str, dice: Dice) -> DomainGoal:
    domain = target.domain
    searched = list(SEARCHED[domain])
    count = {"restaurant": dice.number(2, 3), "hotel": dice.number(2, 4), "attraction": 2}[domain]
    if domain == "attraction" and dice.chance(0.4):
        count = 1
    chosen = dice.mixed(searched)[:count]
    if domain == "hotel":
        # Nobody asks for a hotel without parking; they just do not mention it.
        chosen = [s for s in chosen if target[s] != "no"] or ["area"]
    info = {slot: target[slot] for slot in searched if slot in chosen}
    if dice.chance(0.15):
        info = {"name": target["name"]}
    goal = DomainGoal(domain, info)
    if domain != "attraction" and dice.chance(0.55):
        book, first = _booking(domain, people, day, dice)
        goal = replace(goal, book=book, first_book=first)
    if not goal.book or dice.chance(0.35):
        asked = dice.mixed(ASKED[domain])[: dice.number(1, 3)]
        goal = replace(goal, reqt=tuple(sorted(asked)))
    if "name" not in info:
        goal = _with_detour(world, goal, dice)
    return goal


def _booking(
    domain: str, people: str, day: str, dice: Dice
) -> tuple[dict[str, str], dict[str, str]]:
    book = {"bookpeople": people, "bookday": day}
    first: dict[str, str] = {}
    if domain == "hotel":
        book["bookstay"] = str(dice.number(2, 4))
        if dice.chance(0.35):
            first["bookstay"] = str(int(book["bookstay"]) + 1)
    else:
        start = dice.number(11 * 4 + 2, 20 * 4)
        book["booktime"] = clock(start * 15)
        if dice.chance(0.35):
            first["booktime"] = clock((start + 4) * 15)
    return book, first


def _with_detour(world: World, goal: DomainGoal, dice: Dice) -> DomainGoal:
    """Let the user want something impossible first, change the mind, or not care about a slot."""
    domain, luck = goal.domain, dice.number(1, 100)
    changeable = [s for s in goal.info if s in ("food", "area", "type", "pricerange", "stars")]
    if not changeable:
        return goal
    slot = dice.pick(changeable)
    others = [v[slot] for v in world.venues[domain] if v[slot] != goal.info[slot]]
    for value in dice.mixed(sorted(set(others))):
        possible = bool(world.find(domain, {**goal.info, slot: value}))
        if luck <= 35 and not possible:
            return replace(goal, first_info={slot: value})
        if 35 < luck <= 60 and possible:
            return replace(goal, regretted={slot: value})
    left = [
        s for s in SEARCHED[domain] if s not in goal.info and s in ("area", "pricerange", "food")
    ]
    if left and luck <= 90:
        return replace(goal, indifferent=dice.pick(left))
    return goal


def _train_goal(world: World, people: str, day: str, dice: Dice) -> DomainGoal:
    ends = (TOWN, dice.pick(TOWNS)) if dice.chance(0.5) else (dice.pick(TOWNS), TOWN)
    info = {"departure": ends[0], "destination": ends[1], "day": day}
    train = dice.pick(world.find("train", info)[1:4])
    if dice.chance(0.5):
        info["leaveat"] = clock(minutes(train["leaveat"]) // 15 * 15)
    else:
        info["arriveby"] = clock(minutes(train["arriveby"]) // 15 * 15 + 15)
    if dice.chance(0.55):
        return DomainGoal("train", info, book={"bookpeople": people})
    asked = dice.mixed(ASKED["train"])[: dice.number(1, 3)]
    return DomainGoal("train", info, reqt=tuple(sorted(asked)))


def _taxi_goal(world: World, goals: list[DomainGoal], dice: Dice) -> DomainGoal:
    """Return a ride between two venues of earlier domains, or, on its own, a fully given one."""
    info = {"leaveat" if dice.chance(0.5) else "arriveby": clock(dice.number(9 * 4, 22 * 4) * 15)}
    if not goals:
        info["departure"] = dice.pick(world.venues["attraction"])["name"]
        info["destination"] = dice.pick(world.venues["restaurant"])["name"]
    for goal in goals:
        if "booktime" in goal.book:
            info = {"arriveby": goal.book["booktime"]}
    return DomainGoal("taxi", info, reqt=ASKED["taxi"])
