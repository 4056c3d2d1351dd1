"""What the example systems say: other words for the kinds of statement the operators make."""

REQUESTS = {
    "area": ("what part of town would you like ?", "do you have an area in mind ?"),
    "food": ("what type of food would you like ?", "do you have a cuisine in mind ?"),
    "pricerange": ("what price range would you like ?", "how expensive may it be ?"),
    "type": ("what type of place would you like ?", "is there a kind you prefer ?"),
    "stars": ("how many stars would you like ?",),
    "internet": ("do you need internet ?",),
    "parking": ("do you need a parking space ?",),
    "departure": ("where will you be departing from ?",),
    "destination": ("where would you like to go ?",),
    "day": ("what day will you travel ?",),
    "leaveat": ("what time would you like to leave ?", "when do you want to travel ?"),
    "arriveby": ("what time would you like to leave ?", "when do you want to arrive ?"),
    "bookpeople": ("how many people shall i book for ?",),
    "bookday": ("what day would you like to book ?",),
    "booktime": ("what time would you like the table ?",),
    "bookstay": ("how many nights would you like to stay ?",),
}
COUNTS = {
    "restaurant": (
        "there are {choice} restaurants that match .",
        "i have {choice} restaurants for you .",
    ),
    "hotel": ("there are {choice} hotels that match .", "i have {choice} places to stay ."),
    "attraction": (
        "there are {choice} attractions that match .",
        "i have {choice} places for you .",
    ),
    "train": ("there are {choice} trains that match .", "i have {choice} trains on that day ."),
}
OFFERS = {
    "restaurant": (
        "{name} is a(n) {food} restaurant in the {area} .",
        "i recommend {name} . it is in the {area} .",
        "how about {name} , which serves {food} food ?",
        "{name} matches your request .",
    ),
    "hotel": (
        "{name} is a(n) {type} in the {area} .",
        "i recommend {name} . it has {stars} stars .",
        "how about {name} in the {area} ?",
        "{name} is a(n) {pricerange} {type} .",
    ),
    "attraction": (
        "{name} is a(n) {type} in the {area} .",
        "i recommend {name} in the {area} .",
        "how about {name} on {address} ?",
    ),
    "train": (
        "{trainid} leaves at {leaveat} and arrives at {arriveby} .",
        "i have {trainid} leaving {departure} at {leaveat} .",
        "the train {trainid} arrives in {destination} at {arriveby} .",
    ),
}
PAIRS = ("there are {name} and {name2} .", "i recommend {name} or {name2} .")
AGAIN = ("there is also {name} .", "how about {name} then ?")
ONLY_ONE = ("{name} is the only place i have .", "i only have {name} , sorry .")
UNNAMED = ("there is a place in the {area} that matches .", "i have one in the {area} .")
NO_OFFERS = (
    "i am sorry , there is no such place .",
    "there are none that match . would you like something else ?",
)
OFFER_BOOKING = ("would you like me to book it ?", "shall i make a booking ?")
MORE_DETAILS = ("would you like more information ?", "does that sound good ?")
BOOKED = {
    "restaurant": (
        "i have booked your table . your reference is {ref} .",
        "the booking was made , reference {ref} .",
        "{name} is booked for {bookpeople} people on {bookday} , reference {ref} .",
    ),
    "hotel": (
        "i have booked your rooms . your reference is {ref} .",
        "the booking was made , reference {ref} .",
        "{name} is booked for {bookstay} nights , reference {ref} .",
    ),
    "train": (
        "i have booked your tickets . your reference is {ref} .",
        "{trainid} is booked , the price is {price} , reference {ref} .",
    ),
}
BOOKING_FAILED = (
    "i am sorry , the booking was not possible .",
    "that is not available . would you like to change it ?",
)
FULLY_BOOKED = ("{name} is full , i am sorry .", "i could not book {name} .")
INSTEAD = (
    "i booked {name} for you , the reference is {ref} .",
    "{name} is booked instead . your reference is {ref} .",
)
FACTS = {
    "phone": ("the phone number is {phone}", "the phone is {phone}"),
    "address": ("the address is {address}", "it is located at {address}"),
    "postcode": ("the postcode is {postcode}", "postcode {postcode}"),
    "entrancefee": ("the entrance fee is {entrancefee}", "it costs {entrancefee}"),
    "trainid": ("the train id is {trainid}",),
    "duration": ("the trip takes {duration}",),
    "price": ("the price is {price}", "tickets are {price}"),
}
TAXI_BOOKED = (
    "i booked a(n) {type} for you , the phone number is {phone} .",
    "your car is a(n) {type} , contact {phone} .",
)
TAXI_WITHOUT_PHONE = (
    "i booked a(n) {type} for you .",
    "your car is a(n) {type} and it is on its way .",
)
SURE = ("sure .", "okay .")
ANYTHING_ELSE = (
    "is there anything else you need ?",
    "can i do anything else for you ?",
    "anything else ?",
)
GOODBYES = (
    "you are welcome , goodbye .",
    "have a nice day , bye .",
    "thank you , enjoy your stay !",
)

CHATTY = (
    "Great question! ",
    "Absolutely! ",
    "I'd be delighted to help. ",
    "Thanks for the details. ",
    "Good news: ",
    "",
    "Happy to look into that. ",
    "Alright, here is what I found. ",
)
