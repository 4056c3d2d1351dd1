"""How users accept, book, ask for details and take their leave."""

ACCEPTS = (
    "That sounds good.",
    "Perfect, I'll take it.",
    "Yes, that one.",
    "Sounds like our kind of place.",
    "Brilliant.",
    "Wonderful, let's do that.",
    "OK, that works.",
    "Good choice.",
    "",
)
MORE = (
    "Is there another one like it?",
    "Hmm, what else is there?",
    "I've been there already. Any others?",
    "Do you have a different one?",
    "Could you give me a second option?",
    "Not sure about that one. What else?",
)
BOOK = {
    "restaurant": (
        "Please reserve a table for {bookpeople} on {bookday} at {booktime}.",
        "Could you book us in? {bookpeople} people, {bookday}, {booktime}.",
        "I need a table at {booktime} on {bookday} for {bookpeople}.",
        "Get me a table for {bookpeople}, {bookday} at {booktime}.",
        "We'd come on {bookday} at {booktime}, {bookpeople} of us. Can you book it?",
        "A booking for {bookpeople} at {booktime} this {bookday} would be great.",
    ),
    "hotel": (
        "Please book it for {bookpeople} people, {bookstay} nights from {bookday}.",
        "We need rooms for {bookpeople} from {bookday}, {bookstay} nights in all.",
        "Reserve {bookstay} nights for {bookpeople} people, arriving {bookday}.",
        "I'd book from {bookday} for {bookstay} nights, {bookpeople} guests.",
        "Can you get us in on {bookday}? {bookpeople} guests, {bookstay} nights.",
    ),
    "train": (
        "I'll need {bookpeople} tickets for it.",
        "Book seats for {bookpeople} people, please.",
        "Please reserve {bookpeople} places on that one.",
        "Can you get tickets for {bookpeople} of us?",
        "Yes, put {bookpeople} travellers on it.",
    ),
}
BOOK_VAGUELY = (
    "Could you book it for me?",
    "Please make a reservation there.",
    "I'd like to book that.",
    "Yes, go ahead and reserve it.",
    "Let's book it.",
)
ELSEWHERE = (
    "Then find me another place like it and book that instead.",
    "Could you book a similar place for the same time?",
    "Pity. Please try another one with the same details.",
    "Is there a comparable one that could take us?",
)
ASKS = (
    "Could I have {list}?",
    "What is {list}?",
    "I'd also like {list}.",
    "Would you look up {list}?",
    "I'll need {list}, please.",
    "Mind giving me {list}?",
    "All I need is {list}.",
    "Please send me {list}.",
    "May I ask for {list}?",
    "Before I forget, I need {list}.",
)
ASKED_NOUNS = {
    "phone": ("the phone number", "their telephone number", "a number to call"),
    "address": ("the address", "the street address", "their exact address"),
    "postcode": ("the postcode", "their postcode"),
    "entrancefee": ("the entrance fee", "the price of admission"),
    "trainid": ("the train ID", "the ID of the train"),
    "duration": ("the travel time", "the length of the journey"),
    "price": ("the ticket price", "the fare"),
    "type": ("the car type", "the kind of car"),
}
THANKS = (
    "Thanks, that's everything.",
    "That is all I wanted, thank you.",
    "Great, you've sorted out my whole trip. Thanks!",
    "No, that rounds it off. Thank you kindly.",
    "Nothing else, thanks a lot.",
    "You've been a star, thank you.",
    "Thank you so much, I'm all set now.",
    "Cheers, that's it from me.",
    "Many thanks, goodbye!",
    "That covers everything. Bye!",
    "Perfect, thanks and take care.",
    "I appreciate it, that's the lot.",
    "Thanks a million, I'm done here.",
    "No more questions from me, bye!",
    "That was easy, thank you.",
    "Excellent. That's me sorted.",
    "I think we're finished, thanks.",
    "Nope, nothing more. Keep well!",
    "Lovely, thank you for your time.",
    "You've been very patient, thanks. Bye.",
    "Super helpful, goodbye now.",
    "All good, thank you!",
)
