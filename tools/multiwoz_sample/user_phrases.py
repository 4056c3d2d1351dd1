"""How a user puts several wishes into one sentence."""

from collections.abc import Callable, Collection, Sequence

from tools.multiwoz_sample import user_bookings, user_openings

Pick = Callable[[Sequence[str]], str]


def noun_phrase(domain: str, slots: Collection[str], pick: Pick) -> str:
    """Return a template such as "a(n) {pricerange} restaurant in the {area}"."""
    if domain in ("train", "taxi"):
        noun = pick(user_openings.TRAIN if domain == "train" else user_openings.TAXI)
        order = ("departure", "destination", "day", "leaveat", "arriveby")
        return " ".join([noun, *(pick(user_openings.JOURNEY[s]) for s in order if s in slots)])
    before, after = [], []
    noun = pick(user_openings.NOUNS[domain])
    if "pricerange" in slots:
        before.append("{pricerange}")
    if "food" in slots:
        if pick(("before", "after")) == "before" and noun == "restaurant":
            before.append("{food}")
        else:
            after.append(pick(user_openings.FOOD_PHRASES))
    if "stars" in slots:
        if pick(("before", "after")) == "before":
            before.append("{stars} star")
        else:
            after.append(pick(user_openings.STARS_PHRASES))
    if "type" in slots:
        noun = "{type}"
    if "internet" in slots:
        after.append(pick(user_openings.INTERNET_PHRASES))
    if "parking" in slots:
        after.append(pick(user_openings.PARKING_PHRASES))
    if "area" in slots:
        after.insert(0, pick(user_openings.AREA_PHRASES))
    return " ".join(["a(n)", *before, noun, *after])


def openings(domain: str, slots: Collection[str], *, first: bool, pick: Pick) -> list[str]:
    """Return sentences that may begin to talk about a domain."""
    if "name" in slots:
        return list(user_openings.NAMED)
    frames: Sequence[str]
    phrase = noun_phrase(domain, slots, pick)
    if domain in ("train", "taxi"):
        frames = user_openings.RIDE_OPENERS if first else user_openings.NEXT_RIDE_OPENERS
    else:
        frames = user_openings.OPENERS if first else user_openings.NEXT_OPENERS
    return [pick(frames).replace("{np}", phrase)]


def questions(slots: Sequence[str], pick: Pick) -> list[str]:
    """Return one question for all the slots, which leaves no value to fill in."""
    nouns = [pick(user_bookings.ASKED_NOUNS[slot]) for slot in slots]
    listed = nouns[0] if len(nouns) == 1 else ", ".join(nouns[:-1]) + " and " + nouns[-1]
    return [pick(user_bookings.ASKS).replace("{list}", listed)]
