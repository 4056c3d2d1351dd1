"""What the human operators say when they book, inform and take their leave."""

OFFER_BOOKING = {
    "restaurant": (
        "Shall I reserve a table?",
        "Would a table there suit you?",
        "May I reserve it in your name?",
        "Do you want me to put your name down?",
    ),
    "hotel": (
        "Shall I book rooms there?",
        "Would you like me to reserve it?",
        "Do you want to stay there?",
        "May I make a booking?",
    ),
    "train": (
        "Shall I get you tickets?",
        "Do you want seats on it?",
        "Would you like seats on that one?",
        "How many tickets may I get you?",
    ),
    "attraction": (
        "Would you like the details?",
        "Does that appeal to you?",
        "Shall I tell you more?",
    ),
}
BOOKED = {
    "restaurant": (
        "Your table is reserved, the reference is {ref}.",
        "Done! {name} expects you. Reference: {ref}.",
        "{name} has you down for {booktime} on {bookday}, reference {ref}.",
        "All booked for {bookpeople} people. Please note {ref}.",
        "That worked. They'll hold the table under {ref}.",
        "You're in at {name}; quote {ref} when you arrive.",
        "A table for {bookpeople} on {bookday} is yours, reference {ref}.",
    ),
    "hotel": (
        "Your rooms are booked, reference {ref}.",
        "Done, {name} expects you on {bookday}. The reference is {ref}.",
        "{bookstay} nights at {name}, all confirmed under {ref}.",
        "That went through: {ref} is your reference.",
        "{name} has {bookpeople} guests down from {bookday}. Reference {ref}.",
        "Booked! Keep this number: {ref}.",
    ),
    "train": (
        "Your tickets are booked, reference {ref}.",
        "{bookpeople} seats on {trainid} are yours. Reference: {ref}.",
        "Done. You pay {price} at the station, reference {ref}.",
        "All set for {trainid}, the reference is {ref}.",
        "The fare is {price} in total and your reference {ref}.",
        "I've got the tickets. Please keep {ref}.",
    ),
}
BOOKING_FAILED = {
    "restaurant": (
        "Sorry, they have no table at {booktime}.",
        "{booktime} is taken, I'm afraid. Another time?",
        "The booking didn't go through. Could you come earlier?",
        "They're full then. Would a different time do?",
    ),
    "hotel": (
        "Sorry, they can't do {bookstay} nights.",
        "The booking failed for that many nights. Fewer, perhaps?",
        "They have no rooms for {bookstay} nights.",
        "That stay isn't available. Would a shorter one do?",
    ),
}
FULLY_BOOKED = (
    "{name} is fully booked, I'm sorry to say.",
    "There's no room left at {name}.",
    "I could not get you in at {name}, it's full.",
)
INSTEAD = (
    "I got you into {name} instead, reference {ref}.",
    "{name} could take you. Your reference is {ref}.",
    "Then {name} it is, booked under {ref}.",
)
FACTS = {
    "phone": (
        "the phone number is {phone}",
        "you can ring them on {phone}",
        "their number is {phone}",
    ),
    "address": ("the address is {address}", "it's at {address}", "you'll find it at {address}"),
    "postcode": ("the postcode is {postcode}", "its postcode is {postcode}"),
    "entrancefee": (
        "admission is {entrancefee}",
        "the entrance fee is {entrancefee}",
        "they charge {entrancefee}",
    ),
    "trainid": ("the train ID is {trainid}", "it is train {trainid}"),
    "duration": ("the ride takes {duration}", "the travel time is {duration}"),
    "price": ("a ticket is {price}", "the fare comes to {price}"),
}
FREE_ENTRY = ("it's {entrancefee} to get in", "entrance is {entrancefee}")
UNKNOWN_FEE = ("they don't publish an entrance fee", "no entrance fee is listed")
TAXI_BOOKED = (
    "A(n) {type} will collect you, the number is {phone}.",
    "Booked: a(n) {type}. Reach the driver on {phone}.",
    "Your taxi is a(n) {type}, contact number {phone}.",
    "Look out for a(n) {type}; call {phone} if it's late.",
    "That's arranged. Car: {type}, phone: {phone}.",
)
ANYTHING_ELSE = (
    "Is there more I can do?",
    "What else can I look up?",
    "Anything more on your list?",
    "Do you need anything besides that?",
    "Have you got any other wishes?",
    "Or is your list complete?",
    "Shall I find anything further?",
    "How else can I be of use?",
    "Any other plans I can help with?",
    "Was there something more?",
    "Anything I should add?",
    "Do you want me to search for more?",
)
GOODBYES = (
    "You're very welcome, have fun in Pellingford!",
    "My pleasure. Goodbye!",
    "Glad I could be of use. Safe travels!",
    "Happy to help, enjoy the trip.",
    "Any time. Enjoy the rest of the day!",
    "Thank you for asking us. Bye!",
    "It was a pleasure, take care.",
    "Enjoy yourselves!",
    "Don't mention it, see you soon.",
    "All the best, goodbye.",
    "Wonderful, have a safe journey.",
    "You're welcome, come back any time!",
    "Have a splendid stay, bye!",
    "No trouble at all, goodbye.",
    "Lovely chatting with you. Bye!",
    "Then I wish you a pleasant trip.",
    "Great, have a good time out there!",
    "Good to hear. Until next time!",
    "So long, and enjoy Pellingford!",
    "We're here if anything comes up. Bye!",
)
