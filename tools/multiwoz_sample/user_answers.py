"""What users answer, and how they change their minds."""

ANSWERS = {
    "area": (
        "The {area}, please.",
        "Somewhere in the {area}.",
        "I'd rather be in the {area}.",
        "We'll be in the {area} anyway.",
        "Try the {area} first.",
        "Let's say the {area}.",
    ),
    "food": (
        "{food}, please.",
        "I'm in the mood for {food}.",
        "Let's go with {food} food.",
        "{food} would hit the spot.",
        "We all like {food} food.",
        "Make it {food}.",
    ),
    "pricerange": (
        "Something {pricerange}.",
        "I'd go for {pricerange}.",
        "{pricerange} would be best.",
        "A(n) {pricerange} one, please.",
        "Keep it {pricerange}.",
        "My budget says {pricerange}.",
    ),
    "type": (
        "A(n) {type}, please.",
        "I was thinking of a(n) {type}.",
        "Preferably a(n) {type}.",
        "A(n) {type} would be nice.",
        "Let's look for a(n) {type}.",
    ),
    "stars": (
        "{stars} stars, please.",
        "It should have {stars} stars.",
        "I'd like {stars} stars.",
        "One with {stars} stars.",
    ),
    "internet": (
        "Yes, I need wifi.",
        "Free wifi is a must.",
        "I do have to be online, so yes.",
        "Yes, with internet, please.",
    ),
    "parking": (
        "Yes, we're coming by car.",
        "I need somewhere to park.",
        "Parking should be included, yes.",
        "Yes please, free parking.",
    ),
    "departure": (
        "I'll be leaving from {departure}.",
        "From {departure}.",
        "{departure} is where I start.",
        "We set off from {departure}.",
        "The trip starts at {departure}.",
    ),
    "destination": (
        "I'm headed to {destination}.",
        "To {destination}, please.",
        "I have to get to {destination}.",
        "{destination} is where I'm going.",
        "We want to end up at {destination}.",
    ),
    "day": (
        "On {day}.",
        "{day}, please.",
        "We travel on {day}.",
        "It has to be {day}.",
        "{day} suits me best.",
    ),
    "leaveat": (
        "I can't set off before {leaveat}.",
        "Any time after {leaveat}.",
        "I'd like to leave at {leaveat} or later.",
        "Leaving after {leaveat}, please.",
        "Not before {leaveat}.",
    ),
    "arriveby": (
        "I must be there by {arriveby}.",
        "It needs to get in by {arriveby}.",
        "Arriving before {arriveby}, please.",
        "I have a meeting at {arriveby}, so by then.",
        "By {arriveby} at the latest.",
    ),
    "bookpeople": (
        "Count {bookpeople} of us.",
        "{bookpeople} people.",
        "For {bookpeople}, please.",
        "We are a party of {bookpeople}.",
    ),
    "bookday": (
        "On {bookday}, please.",
        "{bookday} works.",
        "We'd come on {bookday}.",
        "Let's say {bookday}.",
    ),
    "booktime": (
        "At {booktime}, please.",
        "{booktime} would be perfect.",
        "Around {booktime}.",
        "Make it {booktime}.",
    ),
    "bookstay": (
        "{bookstay} nights.",
        "We're staying {bookstay} nights.",
        "For {bookstay} nights, please.",
    ),
}
INDIFFERENT = {
    "area": (
        "Any part of town is fine.",
        "The area makes no odds to me.",
        "I don't mind where it is.",
    ),
    "pricerange": (
        "Price is no object.",
        "I don't care what it costs.",
        "Any price range will do.",
    ),
    "food": (
        "I'll eat anything.",
        "Any kind of food is good with me.",
        "The cooking doesn't matter.",
    ),
}
INDIFFERENT_ANY = (
    "No preference at all.",
    "It really makes no difference.",
    "You choose, I'm easy.",
    "That's not important to me.",
    "Surprise me.",
)
CHANGES = {
    "area": (
        "Hold on, could we make that the {area} instead?",
        "Sorry, I meant the {area}.",
        "On second thoughts, look in the {area}.",
        "Hmm, my friends moved it to the {area}.",
    ),
    "food": (
        "Actually, I've gone off that. {food} food, please.",
        "Wait, let's have {food} instead.",
        "On reflection we'd rather have {food}.",
        "Sorry, change of plan: {food} food.",
    ),
    "pricerange": (
        "Actually, let me switch to something {pricerange}.",
        "On second thoughts, {pricerange} is better.",
        "Wait, I'd sooner have a(n) {pricerange} one.",
    ),
    "type": (
        "Actually, a(n) {type} would be more fun.",
        "Sorry, I changed my mind: a(n) {type}.",
        "Hmm, on reflection I'd want a(n) {type}.",
    ),
    "stars": ("Actually, let's make that {stars} stars.", "Wait, I'd prefer {stars} stars."),
}
ALTERNATIVES = {
    "area": (
        "Then try the {area}.",
        "How about the {area} instead?",
        "Might the {area} have one?",
        "OK, the {area} will do.",
    ),
    "food": (
        "Then what about {food}?",
        "In that case, {food} food.",
        "Is there anything {food}?",
        "OK, {food} is my second choice.",
    ),
    "pricerange": (
        "Would a(n) {pricerange} one exist?",
        "Then {pricerange} is fine too.",
        "OK, look for a(n) {pricerange} one.",
    ),
    "type": (
        "Perhaps a(n) {type}, then?",
        "In that case a(n) {type}.",
        "A(n) {type} would do as well.",
    ),
    "stars": ("Is there one with {stars} stars?", "{stars} stars is all right too."),
    "booktime": (
        "What about {booktime} instead?",
        "Could you try {booktime}?",
        "Then {booktime}, if that's free.",
        "Is {booktime} any better?",
    ),
    "bookstay": (
        "Would {bookstay} nights be possible?",
        "Then just {bookstay} nights.",
        "Could you try {bookstay} nights?",
    ),
}
