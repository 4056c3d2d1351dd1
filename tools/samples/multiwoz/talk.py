"""Dialogues: a user follows goals, and an operator with a database answers, sometimes wrongly."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tools.samples.common import Deck, Dice
from tools.samples.multiwoz.goals import Goal, make_goals
from tools.samples.multiwoz.world import (
    NUMBERS,
    Segment,
    Venue,
    find,
    joined,
    phrases,
    spoken,
    times_in_words,
    usable,
)

State = dict[str, dict[str, list[str]]]
TIMES = ("leaveat", "arriveby", "booktime")
LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
FOLDS = (("train", 10), ("dev", 10), ("test", 62))
PLANS = phrases("world", "plan")
"""The domains of the dialogues, in turn."""
FORGETS = "forgets to give the phone number"
MISHEARS = "searches another area than the one asked for"
UNNAMED = "books without ever saying which place"
SLIPS = {
    (28, "hotel"): FORGETS,
    (38, "hotel"): MISHEARS,
    (49, "restaurant"): UNNAMED,
    (65, "restaurant"): FORGETS,
    (71, "attraction"): MISHEARS,
}
"""Mistakes of the operator, by dialogue and domain."""
# Areas with venues that the user did not ask for.
MISHEARD = {"hotel": "centre", "attraction": "east"}


@dataclass(frozen=True)
class Exchange:
    """A user turn and the operator's answer.

    `state` has per domain and slot, after the user turn, the value and then its other wordings;
    `bookings` include those of the operator's turn.
    """

    domain: str
    user: Sequence[Segment]
    operator: Sequence[Segment]
    state: State
    bookings: dict[str, dict[str, str]]


@dataclass(frozen=True)
class Dialogue:
    """A finished dialogue."""

    name: str
    fold: str
    goals: Sequence[Goal]
    exchanges: Sequence[Exchange]


def make_dialogues(seed: int) -> list[Dialogue]:
    """Return the dialogues in the order of their numbers."""
    deck, dialogues = Deck(Dice(seed)), []
    folds = [fold for fold, size in FOLDS for _ in range(size)]
    for number, fold in enumerate(folds, start=1):
        # Each dialogue has its own random source, so that changes do not affect other dialogues.
        dice = Dice(seed * 1000 + number)
        goals = make_goals(PLANS[number % len(PLANS)].split(), dice)
        talk = Talk(dice, deck)
        for goal in goals:
            talk.about(goal, SLIPS.get((number, goal.domain), ""))
        talk.domain = "general"
        talk.user("thanks", act="general-thank")
        talk.operator("goodbye", act="general-bye")
        talk.close()
        dialogues.append(Dialogue(f"SMP{number:04d}", fold, goals, talk.exchanges))
    return dialogues


class Talk:
    """A dialogue in progress."""

    def __init__(self, dice: Dice, deck: Deck) -> None:
        self.dice, self.deck = dice, deck
        # Some people write lower case only.
        self.casual = dice.chance(0.2)
        self.state: State = {}
        self.bookings: dict[str, dict[str, str]] = {}
        self.visited: dict[str, str] = {}
        self.exchanges: list[Exchange] = []
        self.segments: dict[str, list[Segment]] = {"user": [], "operator": []}

    def about(self, goal: Goal, slip: str) -> None:
        """Generate the turns about a goal, with a mistake of the operator."""
        self.goal, self.domain, self.slip = goal, goal.domain, slip
        {"train": self._train, "taxi": self._taxi}.get(goal.domain, self._venue)()

    def user(self, kind: str, wishes: Mapping[str, str] = {}, **how: Any) -> None:
        """Let the user say a phrase of a kind; `wishes` become part of the state."""
        values = {slot: self._in_words(slot, value) for slot, value in wishes.items()}
        if segment := self._phrase("user", kind, values, **how):
            for slot, value in wishes.items():
                self.inform(slot, value, values[slot] if slot in TIMES else value)
            template = segment.template
            unspoken = tuple((s, v) for s, v in wishes.items() if "{" + s not in template)
            if self.casual:
                template, values = template.lower(), {s: v.lower() for s, v in values.items()}
            segment = replace(segment, template=template, values=values, unspoken=unspoken)
            self.segments["user"].append(segment)

    def operator(self, kind: str, values: Mapping[str, str] = {}, **how: Any) -> None:
        """Let the operator say a phrase of a kind that the values can fill."""
        shown = {s: spoken(s.rstrip("0123456789"), v) for s, v in values.items()}
        if segment := self._phrase("operator", kind, shown, **how):
            self.segments["operator"].append(segment)

    def _phrase(
        self,
        side: str,
        kind: str,
        values: Mapping[str, str],
        key: str = "",
        ways: Sequence[str] = (),
        act: str = "Inform",
        asked: tuple[str, ...] = (),
    ) -> Segment | None:
        key = key or self.domain
        template = self.deck.deal(usable(ways or phrases(side, kind, key), values))
        act = act if "-" in act else f"{self.domain.capitalize()}-{act}"
        return Segment(kind, key, self.domain, act, template, values, asked) if template else None

    def inform(self, slot: str, *wordings: str) -> None:
        """Annotate a constraint of the user: its value and its wording."""
        self.state.setdefault(self.domain, {})[slot] = list(dict.fromkeys(wordings))

    def constraints(self) -> dict[str, str]:
        return {slot: values[0] for slot, values in self.state.get(self.domain, {}).items()}

    def _in_words(self, slot: str, value: str) -> str:
        if slot in TIMES and self.dice.chance(0.5):
            return self.dice.pick(times_in_words(value))
        return spoken(slot, value)

    def close(self) -> None:
        state, bookings = copy.deepcopy(self.state), copy.deepcopy(self.bookings)
        user, operator = self.segments["user"], self.segments["operator"]
        self.exchanges.append(Exchange(self.domain, user, operator, state, bookings))
        self.segments = {"user": [], "operator": []}

    def count(self) -> None:
        """Let the operator say how many venues are left, when there are several."""
        constraints = self.constraints()
        number = len(find(self.domain, constraints))
        if number >= 2 and self.dice.chance(0.6):
            choice = NUMBERS[number] if number <= 12 and self.dice.chance(0.5) else str(number)
            known = {s: v for s, v in constraints.items() if v != "dontcare"}
            self.operator("count", {**known, "choice": choice})

    def request(self, slot: str, value: str, kind: str = "answer", act: str = "Request") -> None:
        """Let the operator ask for a slot, and the user say a value of it."""
        self.operator("request", key=slot, act=act, asked=(slot,))
        self.close()
        self.user(kind, {slot: value}, key=slot)

    def end(self, *, done: bool = True) -> None:
        """End the turn, sometimes with an offer of further help."""
        if done and self.dice.chance(0.45):
            self.operator("anything else", act="general-reqmore")
        self.close()

    def _open(self, wanted: Mapping[str, str], patience: float) -> tuple[list[str], list[str]]:
        """Let the user inform some constraints; return all slots and the informed slots."""
        order = self.dice.mixed(sorted(wanted))
        told = order if self.dice.chance(patience) else order[: self.dice.number(1, len(order))]
        self._begin({slot: wanted[slot] for slot in told})
        return order, told

    def _begin(self, wishes: Mapping[str, str]) -> None:
        """Let the user begin a domain, as in "I need a(n) {food} place in the {area}."."""
        pick, domain = self.deck.deal, self.domain
        if "name" in wishes:
            self.user("open name", wishes)
            return
        ride, noun = domain in ("train", "taxi"), pick(phrases("user", "noun", domain))
        order: tuple[str, ...] = ("departure", "destination", "day", "leaveat", "arriveby")
        before, after = [noun], list[str]()
        if not ride:
            order = ("food", "stars", "internet", "parking", "area")
            before = ["a(n)", *(["{pricerange}"] if "pricerange" in wishes else [])]
        for slot in filter(wishes.__contains__, order):
            in_front = slot in ("food", "stars") and pick(("before", "after")) == "before"
            if in_front and (slot == "stars" or noun == "restaurant"):
                before.append("{food}" if slot == "food" else "{stars} star")
            else:
                place = 0 if slot == "area" else len(after)
                after.insert(place, pick(phrases("user", "with", slot)))
        if not ride:
            before.append("{type}" if "type" in wishes else noun)
        kind, key = "open ride" if ride else "open", "next" if self.exchanges else "first"
        way = pick(phrases("user", kind, key)).replace("{np}", " ".join([*before, *after]))
        self.user("open", wishes, ways=[way])

    def _venue(self) -> None:
        goal = self.goal
        if "name" in goal.info:
            self._begin(goal.info)
        else:
            self._search()
        venue, pair = self._offer()
        if goal.regretted:
            self.close()
            (slot,) = goal.regretted
            self.user("change", {slot: goal.info[slot]}, key=slot)
            venue, _ = self._offer()
        elif not ("name" in goal.info or self.slip == UNNAMED or pair) and self.dice.chance(0.3):
            venue = self._another(venue)
        self.close()
        if goal.book:
            venue = self._book(venue)
        if goal.reqt:
            self._answer_questions(venue, accept=not goal.book)
        self.visited[self.domain] = venue["name"]

    def _search(self) -> None:
        """Let the user inform constraints, together or one by one, until they are satisfiable."""
        goal = self.goal
        wanted = {**goal.info, **goal.first_info, **goal.regretted}
        order, told = self._open(wanted, 0.45)
        if self.slip == MISHEARS:
            # As in real data, the annotation has the operator's wrong form.
            self.inform("area", MISHEARD[self.domain])
            order, told = ([s for s in slots if s != "area"] for slots in (order, told))
        for slot in order[len(told) :]:
            self.count()
            self.request(slot, wanted[slot])
        if goal.indifferent:
            self.count()
            self.request(goal.indifferent, "dontcare", kind="indifferent")
        for slot in goal.first_info:
            self.operator("no offer", act="NoOffer")
            self.close()
            self.user("alternative", {slot: goal.info[slot]}, key=slot)

    def _offer(self) -> tuple[Venue, bool]:
        """Let the operator offer a venue; return it, and whether a second venue was offered."""
        venue, others = self._found(None)
        self.operator("sure", act="general-greet")
        act = "Recommend" if self.dice.chance(0.4) else "Inform"
        pair = False
        if self.slip == UNNAMED:
            self.operator("unnamed", venue, act=act)
        elif others and self.dice.chance(0.25):
            pair = True
            self.operator("pair", {**venue, "name2": self.dice.pick(others)["name"]}, act=act)
        else:
            if others:
                self.count()
            self.operator("offer", venue, act=act)
        if self.dice.chance(0.5):
            if self.goal.book:
                self.operator("offer booking", act="Booking-Inform")
            else:
                self.operator("more details", act="general-reqmore")
        return venue, pair

    def _found(self, venue: Venue | None, without: str = "") -> tuple[Venue, list[Venue]]:
        """Return a (given or random) venue, and the other venues that match the constraints."""
        wishes = {slot: value for slot, value in self.constraints().items() if slot != without}
        found = find(self.domain, wishes)
        venue = venue or self.dice.pick(found)
        return venue, [other for other in found if other["name"] != venue["name"]]

    def _another(self, venue: Venue) -> Venue:
        self.close()
        self.user("more")
        _, others = self._found(venue)
        if not others:
            self.operator("only one", venue)
            return venue
        other = self.dice.pick(others)
        self.operator("again", other)
        return other

    def _book(self, venue: Venue) -> Venue:
        goal = self.goal
        wanted = {**goal.book, **goal.first_book}
        self._accept(venue)
        if self.dice.chance(0.65):
            self.user("book", wanted)
        else:
            self.user("book vaguely")
            for slot in self.dice.mixed(sorted(wanted)):
                self.request(slot, wanted[slot], act="Booking-Request")
        kind = "booked"
        if goal.first_book:
            (slot,) = goal.first_book
            self.operator("booking failed", {**venue, **wanted}, act="Booking-NoBook")
            self.close()
            self.user("alternative", {slot: goal.book[slot]}, key=slot)
        else:
            _, others = self._found(venue, without="name")
            free = "name" not in goal.info and not self.slip
            if others and free and self.dice.chance(0.6):
                self.operator("fully booked", venue, act="Booking-NoBook")
                self.close()
                self.user("elsewhere")
                self.state[self.domain].pop("name", None)
                venue, kind = self.dice.pick(others), "instead"
        reference = "".join(self.dice.pick(LETTERS) for _ in range(8))
        ways = phrases("operator", kind, self.domain)
        if self.slip == UNNAMED:
            ways = tuple(way for way in ways if "{name}" not in way)
        values = {**venue, **goal.book, "ref": reference}
        self.operator(kind, values, ways=ways, act="Booking-Book")
        self.bookings[self.domain] = {"name": venue["name"], "reference": reference}
        self.end(done=not goal.reqt)
        return venue

    def _accept(self, venue: Venue) -> None:
        self.user("accept")
        if self.dice.chance(0.6) and self.domain != "train":
            self.inform("name", venue["name"])

    def _answer_questions(self, venue: Venue, *, accept: bool) -> None:
        """Let the user ask for the requested slots and the operator give them."""
        reqt = self.goal.reqt
        if accept:
            self._accept(venue)
        nouns = joined([self.deck.deal(phrases("user", "asked", slot)) for slot in reqt])
        ways = [self.deck.deal(phrases("user", "ask")).replace("{list}", nouns)]
        self.user("ask", ways=ways, act="Request", asked=reqt)
        given = [s for s in reqt if not (s == "phone" and self.slip == FORGETS)]
        keys = [
            f"{slot} {venue[slot]}" if slot == "entrancefee" and venue[slot] in "free?" else slot
            for slot in given
        ]
        sentence = joined([self.deck.deal(phrases("operator", "fact", key)) for key in keys])
        if self.dice.chance(0.5):
            self.operator("sure", act="general-greet")
        ways = [f"{sentence[:1].upper()}{sentence[1:]}."]
        self.operator("facts", venue, key=" ".join(given), ways=ways)
        self.end()

    def _train(self) -> None:
        goal = self.goal
        _, told = self._open(goal.info, 0.4)
        for slot in [slot for slot in goal.info if slot not in told]:
            if slot in TIMES:
                self.count()
            self.request(slot, goal.info[slot])
        found = find("train", goal.info)
        train = found[0] if "leaveat" in goal.info else found[-1]
        if self.dice.chance(0.3):
            self.count()
        self.operator("sure", act="general-greet")
        self.operator("offer", train)
        if goal.book and self.dice.chance(0.5):
            self.operator("offer booking", act="OfferBook")
        self.close()
        if goal.reqt:
            self._answer_questions(train, accept=True)
        if goal.book:
            self.user("accept")
            self.user("book", goal.book)
            fare = float(train["price"].split()[0]) * int(goal.book["bookpeople"])
            reference = "".join(self.dice.pick(LETTERS) for _ in range(8))
            values = {**train, **goal.book, "price": f"{fare:.2f} pounds", "ref": reference}
            self.operator("booked", values, act="OfferBooked")
            self.bookings["train"] = {"trainID": train["trainid"], "reference": reference}
            self.end()

    def _taxi(self) -> None:
        wanted = dict(self.goal.info)
        if "departure" not in wanted:
            # If a table is booked, the taxi has to go to the restaurant.
            places = list(self.visited.items())
            if self.dice.chance(0.5):
                places.reverse()
            if "arriveby" in wanted:
                places.sort(key=lambda place: place[0] == "restaurant")
            wanted["departure"], wanted["destination"] = places[0][1], places[-1][1]
        _, told = self._open(wanted, 0.4)
        for slot in [slot for slot in sorted(wanted) if slot not in told]:
            self.request(slot, wanted[slot])
        colour, make = (phrases("world", f"car {what}") for what in ("colour", "make"))
        car = f"{self.dice.pick(colour)} {self.dice.pick(make)}"
        phone = f"07700900{self.dice.number(0, 899):03d}"
        self.operator("taxi booked", {"type": car, "phone": phone})
        self.bookings["taxi"] = {"phone": phone, "type": car}
        self.end()
