"""Talking about a restaurant, a hotel or an attraction."""

from tools.multiwoz_sample import operator_bookings, operator_searches, user_answers, user_bookings
from tools.multiwoz_sample.conversation import Conversation
from tools.multiwoz_sample.goals import DomainGoal
from tools.multiwoz_sample.slips import FORGETS, MISHEARS, UNNAMED, misheard_area
from tools.multiwoz_sample.user_phrases import openings, questions
from tools.multiwoz_sample.wording import NUMBERS, joined
from tools.multiwoz_sample.world import Venue

LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"


def talk_about_venue(talk: Conversation, goal: DomainGoal) -> None:
    """Hold the part of the dialogue that is about one venue domain."""
    domain = goal.domain
    if "name" in goal.info:
        frames = openings(domain, goal.info, first=not talk.exchanges, pick=talk.deck.deal)
        talk.user(domain, frames, goal.info)
    else:
        _search(talk, goal)
    venue = _offer(talk, goal)
    if goal.regretted:
        talk.close(domain)
        (slot,) = goal.regretted
        talk.user(domain, user_answers.CHANGES[slot], {slot: goal.info[slot]})
        venue = _offer(talk, goal)
    elif (
        "name" not in goal.info
        and talk.slip != UNNAMED
        and not talk.just_said("pair")
        and talk.dice.chance(0.3)
    ):
        venue = _another(talk, goal, venue)
    talk.close(domain)
    if goal.book:
        venue = _book(talk, goal, venue)
    if goal.reqt:
        answer_questions(talk, goal, venue, accept=not goal.book)
    talk.settled[domain] = venue["name"]


def count(talk: Conversation, domain: str) -> None:
    """Let the operator say how many venues are left, when there are several."""
    constraints = talk.constraints(domain)
    number = len(talk.world.find(domain, constraints))
    if number >= 2 and talk.dice.chance(0.6):
        choice = NUMBERS[number] if number <= 12 and talk.dice.chance(0.5) else str(number)
        act = f"{domain.capitalize()}-Inform"
        known = {s: v for s, v in constraints.items() if s in ("type", "food") and v != "dontcare"}
        talk.operator(
            "count", domain, operator_searches.COUNTS[domain], {"choice": choice, **known}, act=act
        )


def request(talk: Conversation, domain: str, slot: str, act: str) -> None:
    """Let the operator ask for a slot and end the turn."""
    templates = operator_searches.REQUESTS["leaveat" if slot == "arriveby" else slot]
    talk.operator(f"request:{slot}", domain, templates, act=act, asked=(slot,))
    talk.close(domain)


def anything_else(talk: Conversation) -> None:
    """Let the operator ask, sometimes, whether there is more to do."""
    if talk.dice.chance(0.45):
        act = "general-reqmore"
        talk.operator("anything_else", "general", operator_bookings.ANYTHING_ELSE, act=act)


def answer_questions(talk: Conversation, goal: DomainGoal, venue: Venue, *, accept: bool) -> None:
    """Let the user ask for the requested slots and the operator give them."""
    domain = goal.domain
    if accept:
        talk.user(domain, user_bookings.ACCEPTS)
        if talk.dice.chance(0.6) and domain != "train":
            talk.inform(domain, "name", venue["name"])
    frames = questions(goal.reqt, talk.deck.deal)
    talk.user(domain, frames, act=f"{domain.capitalize()}-Request", asked=goal.reqt)
    given = [s for s in goal.reqt if not (s == "phone" and talk.slip == FORGETS)]
    facts = {slot: operator_bookings.FACTS[slot] for slot in given}
    if "entrancefee" in given and venue["entrancefee"] == "?":
        facts["entrancefee"] = operator_bookings.UNKNOWN_FEE
    elif "entrancefee" in given and venue["entrancefee"] == "free":
        facts["entrancefee"] = operator_bookings.FREE_ENTRY
    sentence = joined([talk.deck.deal(ways) for ways in facts.values()]) + "."
    act = f"{domain.capitalize()}-Inform"
    if talk.dice.chance(0.5):
        talk.operator("sure", "general", operator_searches.SURE, act="general-greet")
    kind = "facts:" + ",".join(given)
    template = sentence[:1].upper() + sentence[1:]
    talk.operator(kind, domain, [template], venue.slots, act=act)
    anything_else(talk)
    talk.close(domain)


def _search(talk: Conversation, goal: DomainGoal) -> None:
    """Let the user tell the wishes, in one go or bit by bit, until they can be satisfied."""
    domain = goal.domain
    wanted = {**goal.info, **goal.first_info, **goal.regretted}
    order = talk.dice.mixed(sorted(wanted))
    told = order if talk.dice.chance(0.45) else order[: talk.dice.number(1, len(order))]
    frames = openings(domain, told, first=not talk.exchanges, pick=talk.deck.deal)
    talk.user(domain, frames, {slot: wanted[slot] for slot in told})
    if talk.slip == MISHEARS:
        # As in real data: the operator fills in the form wrongly, and the form is the annotation.
        talk.inform(domain, "area", misheard_area(talk.world, goal))
        order = [slot for slot in order if slot != "area"]
        told = [slot for slot in told if slot != "area"]
    for slot in order[len(told) :]:
        count(talk, domain)
        request(talk, domain, slot, f"{domain.capitalize()}-Request")
        talk.user(domain, user_answers.ANSWERS[slot], {slot: wanted[slot]})
    if goal.indifferent:
        count(talk, domain)
        request(talk, domain, goal.indifferent, f"{domain.capitalize()}-Request")
        ways = (*user_answers.INDIFFERENT[goal.indifferent], *user_answers.INDIFFERENT_ANY)
        talk.user(domain, ways, {goal.indifferent: "dontcare"})
    if goal.first_info:
        (slot,) = goal.first_info
        act = f"{domain.capitalize()}-NoOffer"
        talk.operator("no_offer", domain, operator_searches.NO_OFFERS[domain], act=act)
        talk.close(domain)
        talk.user(domain, user_answers.ALTERNATIVES[slot], {slot: goal.info[slot]})


def _offer(talk: Conversation, goal: DomainGoal) -> Venue:
    domain = goal.domain
    found = talk.world.find(domain, talk.constraints(domain))
    venue = talk.dice.pick(found)
    others = [v for v in found if v["name"] != venue["name"]]
    talk.operator("sure", "general", operator_searches.SURE, act="general-greet")
    act = f"{domain.capitalize()}-{'Recommend' if talk.dice.chance(0.4) else 'Inform'}"
    if talk.slip == UNNAMED:
        talk.operator("unnamed", domain, operator_searches.UNNAMED, venue.slots, act=act)
    elif others and talk.dice.chance(0.25):
        values = {**venue.slots, "name2": talk.dice.pick(others)["name"]}
        talk.operator("pair", domain, operator_searches.PAIRS[domain], values, act=act)
    else:
        if others:
            count(talk, domain)
        talk.operator("offer", domain, operator_searches.OFFERS[domain], venue.slots, act=act)
    if talk.dice.chance(0.5):
        act = "Booking-Inform" if goal.book else "general-reqmore"
        kind = "offer_booking" if goal.book else "more_details"
        ways = operator_bookings.OFFER_BOOKING[domain if goal.book else "attraction"]
        talk.operator(kind, domain, ways, act=act)
    return venue


def _another(talk: Conversation, goal: DomainGoal, venue: Venue) -> Venue:
    domain = goal.domain
    talk.close(domain)
    talk.user(domain, user_bookings.MORE)
    found = talk.world.find(domain, talk.constraints(domain))
    others = [v for v in found if v["name"] != venue["name"]]
    act = f"{domain.capitalize()}-Inform"
    if not others:
        talk.operator("only_one", domain, operator_searches.ONLY_ONE, venue.slots, act=act)
        return venue
    other = talk.dice.pick(others)
    talk.operator("again", domain, operator_searches.AGAIN[domain], other.slots, act=act)
    return other


def _book(talk: Conversation, goal: DomainGoal, venue: Venue) -> Venue:
    domain = goal.domain
    wanted = {**goal.book, **goal.first_book}
    talk.user(domain, user_bookings.ACCEPTS)
    if talk.dice.chance(0.6):
        talk.inform(domain, "name", venue["name"])
    if talk.dice.chance(0.65):
        talk.user(domain, user_bookings.BOOK[domain], wanted)
    else:
        talk.user(domain, user_bookings.BOOK_VAGUELY)
        for slot in talk.dice.mixed(sorted(wanted)):
            request(talk, domain, slot, "Booking-Request")
            talk.user(domain, user_answers.ANSWERS[slot], {slot: wanted[slot]})
    if goal.first_book:
        (slot,) = goal.first_book
        values = {**venue.slots, **wanted}
        failed = operator_bookings.BOOKING_FAILED[domain]
        talk.operator("booking_failed", domain, failed, values, act="Booking-NoBook")
        talk.close(domain)
        talk.user(domain, user_answers.ALTERNATIVES[slot], {slot: goal.book[slot]})
    else:
        own = {s: v for s, v in talk.constraints(domain).items() if s != "name"}
        others = [v for v in talk.world.find(domain, own) if v["name"] != venue["name"]]
        if others and "name" not in goal.info and not talk.slip and talk.dice.chance(0.6):
            full = operator_bookings.FULLY_BOOKED
            talk.operator("fully_booked", domain, full, venue.slots, act="Booking-NoBook")
            talk.close(domain)
            talk.user(domain, user_bookings.ELSEWHERE)
            talk.state[domain].pop("name", None)
            return _confirm(talk, goal, talk.dice.pick(others), "instead")
    return _confirm(talk, goal, venue, "booked")


def _confirm(talk: Conversation, goal: DomainGoal, venue: Venue, kind: str) -> Venue:
    reference = talk.dice.code(8, LETTERS)
    domain = goal.domain
    ways = list(
        operator_bookings.INSTEAD if kind == "instead" else operator_bookings.BOOKED[domain]
    )
    if talk.slip == UNNAMED:
        ways = [way for way in ways if "{name}" not in way]
    values = {**venue.slots, **goal.book, "ref": reference}
    talk.operator(kind, domain, ways, values, act="Booking-Book")
    talk.bookings[domain] = {"name": venue["name"], "reference": reference}
    if not goal.reqt:
        anything_else(talk)
    talk.close(domain)
    return venue
