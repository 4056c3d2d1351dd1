"""Words of users that tell what a value is for, what is asked, and how a turn is meant."""

from __future__ import annotations

import re
from collections.abc import Mapping

from mwzeval.multiwoz.template_system.language import TOPICS

_MORE_TOPICS = {
    "attraction": r"|\bsights?\b|sight-?seeing|(?:something|somewhere|things?) to (?:see|do|visit)",
    "hotel": r"|(?:place|somewhere) to sleep|\blodge\b",
    "restaurant": r"|\bto dine\b|\bcuisine\b|\ba meal\b",
}
TOPIC = re.compile(
    "|".join(
        [
            r"\btrain stations?\b",
            *(
                f"(?P<{domain}>{pattern}{_MORE_TOPICS.get(domain, '')})"
                for domain, pattern in TOPICS.items()
            ),
        ]
    )
)
"""Finds what is spoken of; the group that matches is named as the domain, none for a place."""

_DOMAIN_WORDS = (
    r"hotel|guest ?-?house|restaurant|attraction|train|museum|college|park|theatre|cinema|nightclub"
    r"|place|room|lodging|reservation|table|booking|accommodation"
)
SAME = re.compile(
    r"\b(?:same|that)(?: (?:exact|general))? (?P<what>(?:number|group|amount|party) of (?:people"
    r"|guests|persons|us)|(?:people|group|party|guests)\b|price(?: |-)?(?:range|category|point)?"
    r"|area|part of (?:the )?(?:town|city)|side of (?:the )?(?:town|city)|location|neighbou?rhood"
    r"|days?\b|date)(?: and (?P<more>(?:number|group) of people|people|party|group|price ?range"
    r"|area|day))?"
    rf"(?:,? (?:as|that|of|for|with|from)(?: \w+){{0,3}}? ?(?P<domain>{_DOMAIN_WORDS})\w*)?"
)
SAME_PEOPLE = re.compile(
    r"\bfor (?:all of us|the same|us all)\b|\bsame (?:as )?(?:before|again)\b"
    r"|\bthe same (?:for|number|people)\b"
)
DOMAIN_OF_WORD: Mapping[str, str] = {
    **dict.fromkeys(("hotel", "room", "lodging", "accommodation"), "hotel"),
    **dict.fromkeys(("guesthouse", "guest house", "guest-house"), "hotel"),
    **dict.fromkeys(("restaurant", "table"), "restaurant"),
    "train": "train",
    **dict.fromkeys(
        ("attraction", "museum", "college", "park", "theatre", "cinema", "nightclub"), "attraction"
    ),
}

ARRIVES = re.compile(
    r"\barriv|\bget(?:s|ting)? (?:me )?(?:to|there|in|into)\b|\bbe there\b|\breach"
    r"|\bat the \w+ by\b"
    r"|\bget me (?:\w+ )?there\b|\bin time for\b|\bto be (?:in|at)\b|\barr\b"
)
LEAVES = re.compile(
    r"\bleav|\bdepart|\bpick(?:ed|s)?(?: \w+){0,2} up|\bset(?:ting)? off|\bpick ?up|\bafter\b"
    r"|\bget out"
    r"|\bor later\b|\bhead(?:ing)? out"
)
BY = re.compile(r"\b(?:by|before|no later than|earlier than|until)\b")
AFTER = re.compile(r"\b(?:after|later than|from|past)\b")

FROM = frozenset(
    {"from", "departing", "depart", "departs", "leaving", "leave", "leaves", "departure", "origin"}
    | {"starting", "between", "leaveing", "picked", "pick", "pickup", "out"}
)
TO = frozenset(
    {"to", "into", "destination", "arriving", "arrive", "arrives", "towards", "toward", "reach"}
    | {"going", "heading", "visit", "visiting", "go", "get", "dropped", "drop", "taken", "reaching"}
)

DONTCARE = re.compile(
    r"\b(?:do ?n ?['’]?t|does ?n ?['’]?t|did ?n ?['’]?t|do not|does not|not|never|is ?n['’]?t)"
    r" (?:\w+ )?(?:care|mind|matter|know|have (?:a |any )?(?:\w+ )?prefer\w*|picky|particular"
    r"|important|concerned|fussy|worried)"
    r"|\bno (?:\w+ )?prefer|\bwhatever\b|\bno particular|\bany(?:thing|where)?(?: \w+){0,3}"
    r" (?:is|are|will|would|works?|should)(?: be)? (?:fine|ok|okay|good|do|great|alright|work)\b"
    r"|\bany(?:thing|where) (?:will do|works|is fine|goes)\b|\bup to you\b|\bsurprise me\b"
    r"|\bdo(?:es)? n ?['’]?t matter|\bno specific|\bnothing (?:in )?particular|\bopen to any"
    r"|\bany (?:area|part|price|food|cuisine|type|star|day|time|kind)\b"
)
SLOT_WORDS: Mapping[str, re.Pattern[str]] = {
    slot: re.compile(pattern)
    for slot, pattern in {
        "area": r"\barea|\bpart of|\bwhere\b|\bside of|\blocation|\bwhere it is|part of town",
        "pricerange": r"\bprice|\bcost|\bexpensive or\b|\bbudget",
        "food": r"\bfood|\bcuisine|\bserve",
        "type": r"\btype|\bkind|\bhotel or\b|\bguesthouse or\b|\bsort of",
        "stars": r"\bstar|\brating",
        "parking": r"\bparking",
        "internet": r"\binternet|\bwi-? ?fi",
        "department": r"\bdepartment",
        "name": r"\bname",
        "leaveat": r"\bleav|\bdepart(?:ure)? time|\btime",
        "arriveby": r"\barriv|\btime",
        "day": r"\bday",
        "people": r"\bpeople|\bguests|\btickets|how many",
        "stay": r"\bstay|\bnights",
        "time": r"\btime",
    }.items()
}

NEGATED = frozenset({"no", "not", "without", "nt", "n't", "never", "dont", "doesnt", "non"})
NEGATION = re.compile(
    r"\b(?:no|not|without|never|dont|doesnt|lacks?|lacking|free of)\b|n ?['’] ?t\b"
)
ASKS_WHETHER = re.compile(
    r"\b(?:does|do|is|are|has|have|if|whether|will)\b[^?]{0,20}\b(?:it|they|there|that one"
    r"|the hotel|the guest|this|that|either|any of)\b|\bwhat about\b|\bknow about\b"
    r"|\binternet\?|\bparking\?|\babout (?:the |their )?(?:internet|parking|wifi)"
)
KNOWS_WHETHER = re.compile(
    r"\b(?:know|tell me|see|check|confirm|find out|sure) (?:if|whether|that|it has)\b"
)
ASKS_TYPE = re.compile(r"\b(?:what|which|the) (?:type|kind|sort)\b|\bhotel type\b")
REQUIRES = re.compile(
    r"\b(?:need|needs|must|should|want|wants|include|includes|including|with|prefer|require"
    r"|looking|would like|has to|have to|necessary|important)\b"
)
ASKS = re.compile(
    r"\?|\b(?:what|which|where|when|how|tell|give|provide|send|know|get|need|have|please|also|like"
    r"|want|share|may|could|can|let|ask|phone|address|postcode|text|the)\b"
)
HOTEL_MEANT = re.compile(
    r"\btype\b|\b(?:be|prefer|want|specifically|in|that is|that's) an? (?:\w+ )?hotel\b"
    r"|\bactual hotel|\bhotels?,? (?:not|rather|instead|and not|type|style|as opposed)"
    r"|\bhotels? (?:or|would)\b|\bnot (?:a |an )?guest|\bkind of hotel|\brather (?:have )?a hotel"
)
NO_BOOKING = re.compile(
    r"(?:n ?['’]?t|\bnot|\bno|\bnever) (?:\w+ ){0,5}?(?:book|reserv|ticket)"
    r"|\bbefore (?:i |we )?book|\b(?:my|our|the|that|of) (?:booking|reservation)\b(?! for)"
    r"|\bhold off|\bnot (?:yet|now|right now)"
)
DECLINES = re.compile(
    r"(?:n ?['’] ?t|\bnot|\bno) (?:\w+ ){0,4}?(?:book|reserv|a ticket|any ticket|tickets)"
)
GIVES_UP = re.compile(
    r"\b(?:never ?mind|forget(?: about)?|do without|leave|skip|drop|cancel) (?:about )?(?:the|that"
    r"|this|finding)\b(?! (?:at|by|after)\b|.{0,40}\b(?:at|by|after|around) [0-9])"
)
HAS_BOOKED = re.compile(
    r"\b(?:already|just) (?:booked|reserved)|\bbooked (?:for me|earlier|already)"
)
THANKS = re.compile(r"\bthank|\bthanks|\bcheers\b|\bappreciate")
CLOSES = re.compile(
    r"\bbye\b|\bgood ?bye|\bthat(?: ?['’]? ?s| is| will be| would be|['’]?ll be| was)(?: about)?"
    r" (?:all|it|everything)\b|\blike everything\b|\ball (?:that )?i need(?:ed)?\b"
    r"|\bnothing (?:else|more)\b|\ball set\b|\bi ?['’]? ?a?m (?:all )?(?:done|good|set)\b"
    r"|\bno more\b|\bno,? (?:that|thank)|\bhave an? (?:good|great|nice|lovely|wonderful)"
)
OTHER = re.compile(
    r"\b(?:another|something else|anything else|a different|other (?:option|one|place|choice"
    r"|suggest|restaurant|hotel|attraction|train)|different (?:one|place|restaurant|hotel|train"
    r"|option)|somewhere else|any others?)\b"
)
AGREES = re.compile(
    r"^\W*(?:yes|yeah|yep|yup|sure|ok|okay|please do|great|perfect|sounds|absolutely|definitely"
    r"|go ahead|correct|right|that (?:works|sounds|would be|will)|fine|certainly)\b"
)
REFUSES = re.compile(r"^\W*(?:no|nope|nah|not (?:yet|now|really|at))\b")
BETWEEN = re.compile(
    r"\bbetween (?:the )?(?:two|2|both|them|these|those|places|locations|destinations)\b"
    r"|\b(?:commute|travel|get|go) between\b|\bfrom one to the other\b"
)
PLACE_WORDS = re.compile(
    r"\b(?:the|my|our|this|that) (?P<place>hotel|guest ?-?house|restaurant|attraction|museum"
    r"|college|park|theatre|theater|cinema|night ?club|church|swimming ?pool|pool|gallery|lodging"
    r"|b&b|concert ?hall|entertainment|boat|sports?|place to stay|place)\b"
)
BY_BOOKING = re.compile(
    r"\b(?:booked time|time (?:of (?:the|my|our) )?(?:the )?(?:reservation|booking|booked)|by the"
    r" (?:booking|reservation|booked)|in time for (?:my|the|our)|reservation time|booking time"
    r"|time for (?:my|the|our) (?:reservation|booking|table|dinner))"
)
UNKNOWN_FOOD = re.compile(
    r"\b(?:serv\w+|some|offers?|of|like|has|have|with|find|want|a|an|good|any|for|is) "
    r"(?P<food>[a-z]{4,}(?: [a-z]{3,})?) (?:food|cuisine|restaurants?|dishes)\b"
)
NO_FOOD = frozenset(
    str.split(
        """
    type types kind kinds good great nice same other different particular local this that what any
    some more your their lovely decent interesting another certain specific serves serve serving
    called named favorite favourite popular best which price priced fancy fast moderately reasonably
    located the first find food delicious style recommend recommended available open close closest
    nearby near city town new
    """
    )
)
"""Words before `food` or `restaurant` that are no cuisine."""
NAMED = re.compile(
    r"\b(?:called|named|by the name of|name is|one i want is) (?P<name>[^.,?!;]{2,40}?)"
    r"(?= (?:in|for|please|that|which|and|on|at|located|with)\b| ?[.,?!;]|$)"
)
FREE_FROM = re.compile(
    r"\b(?:from|at|leaving|departing|departure (?:site|point|location)? ?(?:is|:))\s+(?P<place>.+?)"
    r"(?=\s+(?:to|and|by|at|after|before|going|heading|arriving|leaving|around|no|please|on|i)\b|[,.?!;]|$)"
)
FREE_TO = re.compile(
    r"\b(?:to|destination (?:is|:)|for|reach)\s+(?P<place>(?!be\b|go\b|get\b|leave\b|arrive\b"
    r"|book\b|commute\b|travel\b|take\b|pick\b|depart\b|the \w+$|a taxi|find\b|have\b).+?)"
    r"(?=\s+(?:from|and|by|at|after|before|leaving|arriving|departing|around|please|on|i)\b|[,.?!;]|$)"
)
"""A place that is in no database, as the end of a ride."""
