"""Talking about a train or a taxi."""

from tools.multiwoz_sample import operator_bookings, operator_searches, user_answers, user_bookings
from tools.multiwoz_sample.conversation import Conversation
from tools.multiwoz_sample.goals import DomainGoal
from tools.multiwoz_sample.user_phrases import openings
from tools.multiwoz_sample.venue_talk import (
    LETTERS,
    answer_questions,
    anything_else,
    count,
    request,
)
from tools.multiwoz_sample.world import CAR_COLOURS, CAR_MAKES


def talk_about_train(talk: Conversation, goal: DomainGoal) -> None:
    """Hold the part of the dialogue that is about a train."""
    told = _open(talk, goal, dict(goal.info))
    for slot in [s for s in goal.info if s not in told]:
        if slot in ("leaveat", "arriveby"):
            count(talk, "train")
        request(talk, "train", slot, "Train-Request")
        talk.user("train", user_answers.ANSWERS[slot], {slot: goal.info[slot]})
    found = talk.world.find("train", goal.info)
    train = found[0] if "leaveat" in goal.info else found[-1]
    if talk.dice.chance(0.3):
        count(talk, "train")
    talk.operator("sure", "general", operator_searches.SURE, act="general-greet")
    talk.operator(
        "offer", "train", operator_searches.OFFERS["train"], train.slots, act="Train-Inform"
    )
    if goal.book and talk.dice.chance(0.5):
        ways = operator_bookings.OFFER_BOOKING["train"]
        talk.operator("offer_booking", "train", ways, act="Train-OfferBook")
    talk.close("train")
    if goal.reqt:
        answer_questions(talk, goal, train, accept=True)
    if goal.book:
        talk.user("train", user_bookings.ACCEPTS)
        talk.user("train", user_bookings.BOOK["train"], goal.book)
        fare = float(train["price"].split()[0]) * int(goal.book["bookpeople"])
        reference = talk.dice.code(8, LETTERS)
        values = {**train.slots, **goal.book, "price": f"{fare:.2f} pounds", "ref": reference}
        talk.operator(
            "booked", "train", operator_bookings.BOOKED["train"], values, act="Train-OfferBooked"
        )
        talk.bookings["train"] = {"trainID": train["trainid"], "reference": reference}
        anything_else(talk)
        talk.close("train")


def talk_about_taxi(talk: Conversation, goal: DomainGoal) -> None:
    """Hold the part of the dialogue that is about a taxi, between venues talked about before."""
    wanted = dict(goal.info)
    if "departure" not in wanted:
        # The table is booked for a time, so that is where the taxi has to go.
        places = list(talk.settled.items())
        if talk.dice.chance(0.5):
            places.reverse()
        if "arriveby" in wanted:
            places.sort(key=lambda place: place[0] == "restaurant")
        wanted["departure"], wanted["destination"] = places[0][1], places[-1][1]
    told = _open(talk, goal, wanted)
    for slot in [s for s in sorted(wanted) if s not in told]:
        request(talk, "taxi", slot, "Taxi-Request")
        talk.user("taxi", user_answers.ANSWERS[slot], {slot: wanted[slot]})
    car = f"{talk.dice.pick(CAR_COLOURS)} {talk.dice.pick(CAR_MAKES)}"
    phone = f"07700900{talk.dice.number(0, 899):03d}"
    values = {"type": car, "phone": phone}
    talk.operator("taxi_booked", "taxi", operator_bookings.TAXI_BOOKED, values, act="Taxi-Inform")
    talk.bookings["taxi"] = {"phone": phone, "type": car}
    anything_else(talk)
    talk.close("taxi")


def _open(talk: Conversation, goal: DomainGoal, wanted: dict[str, str]) -> list[str]:
    """Let the user begin, and return which of the slots were told."""
    order = talk.dice.mixed(sorted(wanted))
    told = order if talk.dice.chance(0.4) else order[: talk.dice.number(1, len(order))]
    frames = openings(goal.domain, told, first=not talk.exchanges, pick=talk.deck.deal)
    talk.user(goal.domain, frames, {slot: wanted[slot] for slot in told})
    return told
