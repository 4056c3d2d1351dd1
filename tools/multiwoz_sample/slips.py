"""Mistakes of the human operators, of which every real corpus has a few."""

from tools.multiwoz_sample.goals import DomainGoal
from tools.multiwoz_sample.world import AREAS, World

FORGETS = "forgets to give the phone number"
MISHEARS = "searches another area than the one asked for"
UNNAMED = "books without ever saying which place"

# From which dialogue on the next one that allows it has the mistake.
PLANNED = ((27, FORGETS), (38, MISHEARS), (47, UNNAMED), (58, FORGETS), (70, MISHEARS))


def allows(world: World, goal: DomainGoal, slip: str) -> bool:
    """Tell whether the mistake can be made while talking about this goal."""
    if goal.domain in ("train", "taxi") or "name" in goal.info:
        return False
    if slip == FORGETS:
        return "phone" in goal.reqt and len(goal.reqt) > 1
    if goal.first_info or goal.regretted:
        return False
    return bool(misheard_area(world, goal) if slip == MISHEARS else goal.book)


def misheard_area(world: World, goal: DomainGoal) -> str:
    """Return an area that was not asked for but has something to offer, or ""."""
    others = [area for area in AREAS if area != goal.info.get("area", area)]
    found = [a for a in others if world.find(goal.domain, {**goal.info, "area": a})]
    return found[0] if found else ""
