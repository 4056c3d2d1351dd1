"""What a sentence of an agent does that no value tells: it finds nothing, books, or fails to."""

from __future__ import annotations

import re
from collections.abc import Mapping

TOPICS: Mapping[str, re.Pattern[str]] = {
    domain: re.compile(rf"\b(?:{words})\b")
    for domain, words in {
        "restaurant": (
            r"restaurants?|(?:to|can) eat|tables?|eater(?:y|ies)|dining|dine|diners?|cuisines?"
            r"|foods?"
        ),
        "hotel": (
            r"hotels?|guest ?-?houses?|rooms?|nights?|lodgings?|accommodations?|stay(?:ing)?"
            r"|b ?& ?bs?|places? to stay|sleep|check ?-?in|stars?"
        ),
        "attraction": (
            r"attractions?|museums?|colleges?|parks?|theat(?:re|er)s?|night"
            r" ?clubs?|cinemas?|church(?:es)?"
            r"|entrance|admission|sights?|galler(?:y|ies)|pools?|concert ?halls?|architecture"
            r"|entertainment"
        ),
        "train": r"trains?|tickets?|stations?|rail(?:way)?",
        "taxi": r"taxis?|cabs?|cars?|drivers?|pick(?:ed)?(?: you)? ?-?up|rides?",
        "hospital": r"hospitals?|departments?|addenbrooke'?s",
        "police": r"police",
    }.items()
}
"""Words of a sentence that tell which domain it is about; `police station` is no train's."""

_SAME_AS = re.compile(r"\bsame (?:\w+ ){1,3}as (?:the |your )?\w+")
_NT = r"(?: ?n ?['’`] ?t|nt| not)"
"""`not` as it follows a verb: `do n't`, `doesn’t`, `dont`."""
_NEGATION = re.compile(
    r"\b(?:no|not|none|nothing|neither|never|unknown|unlisted|unspecified|unable|without"
    r"|cannot|cant|dont|didnt|doesnt|couldnt"
    r"|unfortunately|unavailable|unsuccessful|failed|fully|full|zero|sorry|apolog\w+|afraid"
    r"|nt)\b"
    r"|n ?['’`] ?t\b"
)
"""Without any of these words a sentence denies nothing."""

_THING = (
    r"(?:restaurants?|hotels?|guest ?-?houses?|attractions?|trains?|somewhere"
    r"|museums?|colleges?|parks?"
    r"|theat(?:re|er)s?|night ?-?clubs?|cinemas?|places?|venues?|options?|match(?:es)?|results?"
    r"|listings?|availab\w+|choices?|ones?|lodgings?|accommodations?|entertainment|architecture"
    r"|(?:swimming ?)?pools?|church(?:es)?|concert ?halls?|eater(?:y|ies)"
    r"|departures?|rooms?|tables?"
    r"|boats?|sights?|sports|entries|gastropubs?|food|cuisine|establishments?|facilities"
    r"|departments?"
    r"|galler(?:y|ies)|tickets?|records?)"
)
_FINDING = (
    r"(?:find\w*|found|locate|have|see\w*|show\w*|appear|seem|get|got|return\w*|come|bring"
    r"|match\w*"
    r"|list\w*|offer|pull|be|is|are)"
)
_NOTHING_FOUND = re.compile(
    rf"\b(?:no|zero|0)(?: [\w'’£-]+){{0,6}}? {_THING}\b"
    r"|\b(?:nothing|none)\b(?! (?:else|to\b))"
    rf"|(?:{_NT}|\b(?:not|no|never|cannot|unable to))\b(?: [\w'’]+){{0,4}}? {_FINDING}\b"
    rf"(?: [\w'’£,-]+){{0,7}}? (?:any(?:thing|one)?|{_THING}|a match|what you)\b"
    rf"|\b(?:are|is|do|does|have){_NT}(?: [\w'’-]+){{0,3}}? (?:any|{_THING}|one)\b"
    rf"|\b(?:does|do|did){_NT} (?:exist|match|seem to (?:be|have)|have any|appear)"
    r"|no such|\bno (?:matches|luck|results)\b|not (?:on|in) our (?:list|system|database)"
)
_NOTHING_OF_NAME = re.compile(
    rf"(?:{_NT}|\b(?:not|no|cannot|unable to))\b(?: \w+){{0,3}}?"
    r" (?:information|info|details|records?|listings?|results?) (?:about|on|for|of|regarding)"
    r" (?:\w+ ){0,3}?\W?_|\bno _"
)
"""Letters of names are `_` here: `I could not find any information about ____ hotel`."""
_DETAILS = (
    r"information|info|details?|signature|phone|address|postcode|post code|price(?! ?range)|pricing"
    r"|fees?|parking|wi ?-?fi|internet|charge|ratings?|telephone|website|reference|specified|cost"
    r"|mentioned|specific\w*|opening|hours"
)
_OF_VENUES = re.compile(rf"\b(?:{_DETAILS})\b")
_OF_VENUES_OR_OTHERS = re.compile(
    rf"\b(?:{_DETAILS}|need|number|other|more|additional|further|preference)\b"
)
"""What a venue has, so that its lack is not that of venues, and what is left beside an offer."""
_NO_INFORMATION = re.compile(
    rf"(?:{_NT}|\b(?:no|not|cannot|unable to))\b(?: \w+){{0,4}}? (?:information|info|details?)\b"
    r"(?! (?:about|on|of|for|regarding))"
)
_NO_PROBLEM = re.compile(r"\bno (?:problem|worries|trouble|need|charge)\b|not a problem")

_NOT_BOOKED = re.compile(
    rf"(?:\b(?:unable|not able|not possible|cannot|can ?not|not|no|never)|{_NT})\b(?:"
    rf" [\w'’]+){{0,5}}?"
    r" (?:book(?:ed|ing)?|reserve|make (?:\w+ ){0,2}(?:bookings?|reservations?)|make it|complete"
    r"|accommodate|process|secure|get (?:you )?(?:a|the|that) (?:table|room|booking|reservation)"
    r"|purchase)\b"
    rf"|\b(?:booking|reservation|it|that|which)s? (?:\w+ )?(?:(?:was|is|were|has been){_NT}"
    r" (?:\w+ )?(?:successful|possible|made|booked|completed|able)|failed|(?:was|is|were|has"
    r" been)"
    rf" (?:unsuccessful|declined|rejected)|(?:did|does|could){_NT} (?:be made|go through"
    rf"|succeed))"
    r"|\bunsuccessful\b|\bfully booked\b|already (?:be(?:en)? )?booked|all booked"
    r"|booked (?:up|solid)|\bbook(?:ed|ing) (?:has |have )?failed"
)
_UNAVAILABLE = re.compile(
    r"\b(?:no|not any) (?:availability|tables?|rooms?|seats?|vacanc\w+)\b|\b(?:currently|is"
    r"|are) full\b"
    rf"|\b(?:do|does|did|is|are){_NT}(?: \w+){{0,3}} (?:rooms?|tables?|seats?|availability"
    rf"|vacanc\w+)\b"
    rf"|unavailable|(?:is|are|was|were){_NT} (?:\w+ )?(?:available|working)|neither is available"
    r"|nothing (?:is )?available|no longer available"
)
_BOOKED = re.compile(
    r"\b(?:i|we)(?: ?['’] ?ve| have)?(?: \w+){0,2}? (?:booked|reserved|purchased|secured)\b"
    r"|\b(?:i|we)(?: ?['’] ?ve| have)?(?: \w+)? (?:made|completed|confirmed|placed"
    r"|got(?:ten)?|able to (?:make|get)) (?:\w+ ){0,3}?"
    r"(?:booking|reservation|purchase|tickets?)"
    r"|\b(?:booking|reservation|purchase|tickets?|table|rooms?|seats?|stay|it|that|train|hotel"
    r"|everything|you|taxi)"
    r"(?: (?:for|at|on|of|to|from|with|by|in|the)\b[^.!?]{0,120}?)?"
    r"(?: (?:was|is|are|were|has|have|had|been|all|now|successfully|also)|['’]s|['’]re|['’]ve)+"
    r" (?:a success|successful|successfully|success|confirmed|complete[d]?|booked|reserved"
    r"|made|purchased|secured|set)\b"
    r"|\bbook(?:ed|ing) (?:is |was )?(?:successful\w*|confirmed|complete)"
    r"|\bsuccessful(?:ly)? (?:book|reserv|made|make)\w*"
    r"|\byou ?(?:are|['’]re) (?:all )?(?:booked|set)\b|\ball set\b|\ball booked\b|\b(?:was"
    r"|were) able to (?:book|reserve|get you)"
    r"|\bgot (?:you|that|it) (?:booked|reserved|a table|a room)|^(?:booked|reserved|done)\b"
)
_NOT_YET = re.compile(
    r"\b(?:if|once|when|before|after|until|can be|could be|to be|will be|would be|should be"
    r"|shall|should i|let me|would you like|want)\b"
    r"[^.!?]{0,60}\b(?:booked|reserved|book|reserve|confirmed|made|set|complete)|\bfully"
    r" booked|\balready (?:be(?:en)? )?booked"
    r"|\bnothing (?:has been|is|was) booked"
)
_DEPENDS = re.compile(r"\b(?:without|until|unless|before|if you (?:do|don|have|could))\b|not need")
"""What makes a booking depend on what the user is asked for."""
_REQUESTED: Mapping[str, str] = {
    "Phone": r"phone|telephone|contact|number|called",
    "Addr": r"address|location",
    "Post": r"post ?-?codes?|zip",
    "Fee": r"fees?|entrance|admission|entry|cost|charge",
    "Area": r"areas?|part of town",
    "Price": r"prices?|price range|pricing",
    "Ticket": r"prices?|costs?|fares?",
    "Time": r"duration|travel time|how long|journey",
    "Type": r"types?|kind",
    "Food": r"food|cuisine",
    "Stars": r"stars?|ratings?",
    "Internet": r"internet|wi ?-?fi",
    "Parking": r"parking",
    "Id": r"ids?",
    "Leave": r"departure|leaves?",
    "Arrive": r"arrival|arrives?",
    "Car": r"car|vehicle|model",
}
_UNKNOWN = re.compile(
    r"\b(?:unknown|unlisted|unspecified|unavailable|no information|unable|cannot|don't know"
    r"|not (?:\w+ )?(?:known|listed|available|specified|mentioned|provided|given|stated|sure)"
    r"|no (?:\w+ ){0,3}(?:listed|available|given|specified|provided|number|phone|address|post"
    r" ?code))\b"
    rf"|{_NT} (?:\w+ )?(?:know|have|list|provide|find|see|mention|specify|show|say|include|any)\b"
)
_LACKING = {slot: re.compile(rf"\b(?:{words})\b") for slot, words in _REQUESTED.items()}
_CHOOSES = re.compile(
    r"\b(?:or|which|what|prefer\w*|any of|either|versus|vs|types? of|kinds? of|sorts? of)\b"
)
_GENERAL: Mapping[str, re.Pattern[str]] = {
    "reqmore": re.compile(
        r"(?:anything|something|any) (?:else|more|other|further)|(?:else|more|further) (?:i"
        r"|we) can"
        r"|(?:any|have) (?:more|other|further|additional) (?:questions?|help|assistance)"
    ),
    "bye": re.compile(
        r"\b(?:good ?-?bye|bye|have an? (?:\w+ )?(?:day|time|trip|stay|evening|night)|farewell"
        r"|thank(?:s| you) for (?:using|contacting|calling))\b"
    ),
    "welcome": re.compile(
        r"\bwelcome\b|\bmy pleasure\b|glad (?:to|i could)|happy to (?:help|have)"
    ),
    "greet": re.compile(r"^\W*(?:hello|hi|hey|good (?:morning|afternoon|evening)|greetings)\b"),
}
_ANY_GENERAL = re.compile(
    r"else|more|other|further|additional|bye|have a|welcome|pleasure|glad|happy|hello|\bhi\b"
    r"|hey|good |greet|farewell|thank"
)


def topics_of(sentence: str) -> list[str]:
    """Return the domains that words of a sentence in lower case tell, in the order of these."""
    if "same" in sentence:
        sentence = _SAME_AS.sub(" ", sentence)
    places = {}
    for domain, pattern in TOPICS.items():
        match = pattern.search(sentence)
        if match:
            places[domain] = match.start()
    if "police" in places:
        places.pop("train", None)
    return sorted(places, key=places.__getitem__)


def finds_nothing(sentence: str) -> bool:
    """Tell whether a sentence in lower case says that there is nothing of what is wanted."""
    if not _NEGATION.search(sentence) or _NO_PROBLEM.search(sentence):
        return False
    if _NOTHING_OF_NAME.search(sentence):
        return True
    for match in _NOTHING_FOUND.finditer(sentence):
        denied = match[0]
        if denied.endswith("available") and _OF_VENUES.search(sentence):
            continue
        if denied.endswith("any"):
            denied = " ".join((denied, *sentence[match.end() :].split(maxsplit=2)[:2]))
        if not _OF_VENUES_OR_OTHERS.search(denied):
            return True
    return False


def denies(sentence: str) -> bool:
    """Tell whether a sentence in lower case has any word that denies or regrets."""
    return _NEGATION.search(sentence) is not None


def fails_to_book(sentence: str) -> bool:
    """Tell whether a sentence in lower case says that a booking was not or cannot be made."""
    return (
        _NEGATION.search(sentence) is not None
        and _NOT_BOOKED.search(sentence) is not None
        and _DEPENDS.search(sentence) is None
    )


def is_unavailable(sentence: str) -> bool:
    """Tell whether a sentence in lower case says that something is not available.

    That is a booking that cannot be made, or else nothing that was found.
    """
    return (
        _NEGATION.search(sentence) is not None
        and _UNAVAILABLE.search(sentence) is not None
        and _OF_VENUES.search(sentence) is None
    )


def has_booked(sentence: str) -> bool:
    """Tell whether a sentence in lower case says that a booking was made."""
    return (
        not sentence.rstrip().endswith("?")
        and bool(_BOOKED.search(sentence))
        and not _NOT_YET.search(sentence)
        and not fails_to_book(sentence)
    )


def chooses(sentence: str) -> bool:
    """Tell whether a sentence in lower case lets the user choose among what it says."""
    return bool(_CHOOSES.search(sentence))


def is_unknown(sentence: str, slot: str) -> bool:
    """Tell whether a sentence in lower case says that the value of an act's slot is not known."""
    lacking = _LACKING.get(slot)
    return (
        lacking is not None
        and lacking.search(sentence) is not None
        and _UNKNOWN.search(sentence) is not None
    )


def lacks_information(sentence: str) -> bool:
    """Tell whether a sentence in lower case says that what was asked for is not known."""
    return _NO_INFORMATION.search(sentence) is not None


def courtesies_of(text: str) -> list[str]:
    """Return the general acts of a text in lower case: reqmore, bye, welcome, greet."""
    if not _ANY_GENERAL.search(text):
        return []
    return [intent for intent, pattern in _GENERAL.items() if pattern.search(text)]
