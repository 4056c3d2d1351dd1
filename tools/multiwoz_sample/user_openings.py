"""How users begin to talk about a domain, in fragments that combine."""

OPENERS = (
    "I'm looking for {np}.",
    "Hello! I need {np}, please.",
    "Could you point me to {np}?",
    "We're after {np}, if there is one.",
    "Hi there, my sister asked me to find {np}.",
    "Do you happen to know {np}?",
    "I'd love some advice on {np}.",
    "Good morning, I'm trying to find {np}.",
    "What have you got in the way of {np}?",
    "I'm visiting Pellingford soon and want {np}.",
    "Please look up {np} for me.",
    "Would you search for {np}?",
    "My parents are in town and would like {np}.",
    "Ideally I'd end up with {np}.",
    "Hey, can you dig up {np}?",
    "I was told you could suggest {np}.",
    "It's our anniversary and we want {np}.",
    "Any tips for {np}?",
    "I could really use {np}.",
    "We've just arrived and fancy {np}.",
)
NEXT_OPENERS = (
    "Next on my list is {np}.",
    "I'm also hoping to find {np}.",
    "While you're at it, find me {np}, please.",
    "Now I'd like {np} as well.",
    "One more thing: I want {np}.",
    "Besides that, we need {np}.",
    "And then there's the matter of {np}.",
    "Could you do the same for {np}?",
    "On top of that I'll want {np}.",
    "Great, one thing done. Now for {np}.",
    "Moving on, could you suggest {np}?",
    "Right, and what about {np}?",
    "That leaves {np}, can you sort it out?",
    "Lovely. We'd also enjoy {np}.",
)
AREA_PHRASES = (
    "in the {area}",
    "in the {area} of town",
    "somewhere in the {area}",
    "towards the {area} of the town",
)
NOUNS = {
    "restaurant": ("restaurant", "place to eat", "dinner spot", "restaurant", "place for lunch"),
    "hotel": ("place to stay", "bed for the night", "place to sleep"),
    "attraction": ("place to visit", "sight worth seeing", "thing to see"),
}
FOOD_PHRASES = (
    "serving {food} food",
    "with {food} cooking",
    "that does {food} food",
    "with a(n) {food} menu",
)
STARS_PHRASES = ("with {stars} stars", "rated {stars} stars", "with a rating of {stars} stars")
PARKING_PHRASES = (
    "with free parking",
    "that has parking for my car",
    "where I can park for nothing",
)
INTERNET_PHRASES = ("with free wifi", "that has internet included", "with wifi in the rooms")
NAMED = (
    "I've heard about {name}, what can you tell me?",
    "Do you have anything on {name}?",
    "A friend swears by {name}. Is it listed?",
    "Can you find {name} for me?",
    "I want to know more about {name}.",
    "My guidebook mentions {name}, please look it up.",
    "Tell me a bit about {name}.",
    "Is there a place called {name}?",
    "I'm interested in {name}, have you got its details?",
    "Please check {name}.",
)
TRAIN = ("a train", "a train connection", "train times", "a train ride", "a seat on a train")
TAXI = ("a taxi", "a cab", "a taxi ride", "a car")
JOURNEY = {
    "departure": ("from {departure}", "leaving {departure}", "out of {departure}"),
    "destination": ("to {destination}", "bound for {destination}", "going to {destination}"),
    "day": ("on {day}", "this {day}", "for {day}"),
    "leaveat": ("after {leaveat}", "leaving at {leaveat} or later", "not before {leaveat}"),
    "arriveby": (
        "arriving by {arriveby}",
        "that gets there by {arriveby}",
        "in time for {arriveby}",
    ),
}
RIDE_OPENERS = (
    "I need {np}, please.",
    "Hello, could you find {np}?",
    "I'd like {np}.",
    "How do I get {np}?",
    "Can you sort out {np} for me?",
    "Hi! I'm after {np}.",
    "I have to arrange {np}.",
    "Would you get me {np}?",
    "My aunt is visiting, so I need {np}.",
    "Please help me with {np}.",
    "What can you tell me about {np}?",
    "We'd like to take {np}.",
    "Good evening, I want to organise {np}.",
)
NEXT_RIDE_OPENERS = (
    "And I'll need {np}.",
    "Could you also see to {np}?",
    "Now please arrange {np}.",
    "I'd want {np} too.",
    "How about {np} as well?",
    "Next I need {np}.",
    "Apart from that, I'm looking for {np}.",
    "We need {np} on top of that.",
    "Finally, I should like {np}.",
    "Then there is just {np} to take care of.",
)
