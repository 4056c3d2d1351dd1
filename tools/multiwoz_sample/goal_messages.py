"""Goals told in English, as the users of the corpus were given them."""

from tools.multiwoz_sample.goals import DomainGoal
from tools.multiwoz_sample.wording import joined, spoken

_SOUGHT = {
    "restaurant": "somewhere to eat",
    "hotel": "somewhere to stay",
    "attraction": "something to visit",
    "train": "a train",
    "taxi": "a taxi",
}
_WISHES = {
    "food": "serve {} food",
    "pricerange": "have {} prices",
    "area": "lie in the {}",
    "type": "be of the type {}",
    "stars": "have {} stars",
    "departure": "start from {}",
    "destination": "go to {}",
    "day": "run on {}",
    "leaveat": "leave after {}",
    "arriveby": "arrive by {}",
}
_NOUNS = {
    "phone": "phone number",
    "entrancefee": "entrance fee",
    "trainid": "train ID",
    "type": "car type",
    "duration": "travel time",
    "price": "fare",
}
_BOOKED = {"bookpeople": "{} people", "bookday": "{}", "booktime": "{}", "bookstay": "{} nights"}


def goal_message(goals: tuple[DomainGoal, ...], town: str) -> list[str]:
    """Return the goals as sentences, the values emphasised in HTML as in the public files."""
    message = [f"You are spending some days in {spoken('name', town)}"]
    for goal in goals:
        message.extend(_about(goal))
    return message


def _about(goal: DomainGoal) -> list[str]:
    lines = [f"You want to find {_stress(_SOUGHT[goal.domain])}"]
    if "name" in goal.info:
        lines[0] += f" called {_stress(goal.info['name'])}"
    wanted = {**goal.info, **goal.first_info, **goal.regretted}
    wishes = [_WISHES[s].format(_stress(v)) for s, v in wanted.items() if s in _WISHES]
    wishes += [f"have {_stress('free ' + s)}" for s in ("internet", "parking") if s in wanted]
    if wishes:
        lines.append(f"It should {joined(wishes)}")
    for slot in goal.first_info:
        second = _WISHES[slot].format(_stress(goal.info[slot]))
        lines.append(f"If nothing like that exists, it may {second}")
    for slot in goal.regretted:
        second = _WISHES[slot].format(_stress(goal.info[slot]))
        lines.append(f"After the first suggestion you change your mind: it should {second}")
    if goal.indifferent:
        lines.append(f"You do not care about the {_stress(goal.indifferent)}")
    if goal.book:
        booked = {**goal.book, **goal.first_book}
        details = joined([_BOOKED[s].format(_stress(v)) for s, v in booked.items()])
        lines.append(f"Book it for {details} and ask for the {_stress('reference')}")
    second_book = [_BOOKED[slot].format(_stress(goal.book[slot])) for slot in goal.first_book]
    lines.extend(f"If that is not possible, take {second}" for second in second_book)
    if goal.reqt:
        nouns = [_NOUNS.get(s, s) for s in goal.reqt]
        lines.append(f"Find out the {joined([_stress(noun) for noun in nouns])}")
    return lines


def _stress(text: str) -> str:
    return f"<span class='emphasis'>{text}</span>"
