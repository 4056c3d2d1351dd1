"""All dialogues of the corpus: which domains, which fold, whose mistakes."""

from tools.dice import Deck, Dice
from tools.multiwoz_sample import operator_bookings, user_bookings
from tools.multiwoz_sample.conversation import Conversation, Dialogue
from tools.multiwoz_sample.goals import make_goals
from tools.multiwoz_sample.journey_talk import talk_about_taxi, talk_about_train
from tools.multiwoz_sample.slips import PLANNED, allows
from tools.multiwoz_sample.venue_talk import talk_about_venue
from tools.multiwoz_sample.world import World

FOLDS = (("train", 10), ("dev", 10), ("test", 62))
_PLANS = (
    ("restaurant",), ("hotel", "attraction"), ("train",), ("restaurant", "attraction", "taxi"),
    ("hotel",), ("attraction", "restaurant"), ("train", "hotel"), ("attraction",), ("taxi",),
    ("restaurant", "hotel"), ("train", "attraction"), ("hotel", "restaurant", "taxi"),
    ("restaurant", "train"), ("attraction", "hotel", "taxi"), ("restaurant",),
    ("train", "restaurant", "attraction"), ("hotel", "train"),
)  # fmt: skip


def make_dialogues(world: World, seed: int) -> list[Dialogue]:
    """Return the dialogues in the order of their numbers."""
    folds = [fold for fold, size in FOLDS for _ in range(size)]
    deck = Deck(Dice(seed))
    dialogues = []
    planned = list(PLANNED)
    for number, fold in enumerate(folds, start=1):
        # Every dialogue has its own dice, so that a change to one leaves the wishes of the rest.
        dice = Dice(seed * 1000 + number)
        goals = make_goals(world, _PLANS[number % len(_PLANS)], dice)
        talk = Conversation(world, dice, deck)
        for goal in goals:
            talk.slip = ""
            if planned and number >= planned[0][0] and allows(world, goal, planned[0][1]):
                talk.slip = planned.pop(0)[1]
            if goal.domain == "train":
                talk_about_train(talk, goal)
            elif goal.domain == "taxi":
                talk_about_taxi(talk, goal)
            else:
                talk_about_venue(talk, goal)
        talk.user("general", user_bookings.THANKS, act="general-thank")
        talk.operator("goodbye", "general", operator_bookings.GOODBYES, act="general-bye")
        talk.close("general")
        dialogues.append(Dialogue(f"SMP{number:04d}", fold, goals, tuple(talk.exchanges)))
    return dialogues
