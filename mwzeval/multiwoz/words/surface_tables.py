"""How people write the values of the database, where that is not how the database does.

Data only. Adding a spelling changes which values of a lexicalised response are found, and so
scores.
"""

from __future__ import annotations


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a table that is written as a text."""
    return tuple(text.split())


NUMBER_WORDS = {
    word: str(number)
    for number, word in enumerate(
        words_of(
            """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen
    fifteen sixteen seventeen eighteen nineteen twenty
    """
        )
    )
} | {
    word: str(10 * tens)
    for tens, word in enumerate(words_of("thirty forty fifty sixty seventy eighty ninety"), 3)
}

WORD_SPELLINGS = {
    "center": "centre",
    "centers": "centres",
    "theater": "theatre",
    "theaters": "theatres",
    "archeology": "archaeology",
    "archaelogy": "archaeology",
    "st": "saint",
    "rd": "road",
    "ave": "avenue",
    "ln": "lane",
    "sq": "square",
    "pl": "place",
    "ct": "court",
    "cres": "crescent",
    "gdns": "gardens",
    "bnb": "b&b",
    "portugese": "portuguese",
    "moderatly": "moderately",
}

DOMAINS_OF = {
    **dict.fromkeys(
        ("name", "address", "postcode", "area", "pricerange"),
        ("restaurant", "hotel", "attraction"),
    ),
    "phone": ("restaurant", "hotel", "attraction", "taxi", "police", "hospital"),
    "food": ("restaurant",),
    "type": ("hotel", "attraction"),
    "stars": ("hotel",),
    "entrancefee": ("attraction",),
    **dict.fromkeys(("reference", "choice"), ("restaurant", "hotel", "train", "attraction")),
    **dict.fromkeys(("departure", "destination", "leaveat", "arriveby"), ("train", "taxi")),
    **dict.fromkeys(("trainid", "duration", "price", "day"), ("train",)),
    **dict.fromkeys(("roomprice", "internet", "parking"), ("hotel",)),
    "openhours": ("attraction",),
}
"""Slot → the domains it can be of."""

BY_FORM = frozenset(
    words_of(
        """
    day departure destination leaveat arriveby duration price entrancefee roomprice internet
    parking openhours
    """
    )
)
"""Slots whose values are said of much else: claims only where the dialogue is about the domain."""

CLAIMS_ONLY = frozenset(
    {"station", "nofee", "nostars", "internet", "parking", "thetype", "oddfood"}
)
"""What is held against the database, but stays as it is in delexicalised responses."""
NO_FEE = (
    *("no entrance fee", "no admission fee", "no entry fee", "no fee", "no entrance charge"),
    *("no admission charge", "no charge", "no entry charge", "no cost", "without charge"),
    *(
        "no entrance fees",
        "no admission fees",
        "no fees",
        "no admission costs",
        "no admission cost",
    ),
    *("at no charge", "gratis", "not charge", "complimentary entry", "complimentary admission"),
)
NO_STARS = ("no stars", "no star rating", "unrated", "without stars")
AMENITIES = {
    "parking": ("parking", "car park", "free parking", "onsite parking"),
    "internet": (
        *("internet", "free internet", "wifi", "free wifi", "wi fi", "free wi fi"),
        *("wireless internet", "internet access", "wireless", "free wireless internet"),
    ),
}
"""Column of hotels with yes or no → how it is said."""

SKIPPED_SIGNS = frozenset(".-'’`´\"")
"""Signs that may stand between the words of a value."""

AREAS = ("centre", "north", "south", "east", "west")
AREA_SPELLINGS = {
    **{f"{area}ern": area for area in AREAS[1:]},
    **dict.fromkeys(("central", "centrally"), "centre"),
    **dict.fromkeys(("city centre", "town centre", "downtown"), "centre"),
    **{f"heart of {where}": "centre" for where in ("cambridge", "the city", "the town", "town")},
}
DAY_SPELLINGS = {
    **dict.fromkeys(("mon",), "monday"),
    **dict.fromkeys(("tue", "tues"), "tuesday"),
    **dict.fromkeys(("wed", "weds"), "wednesday"),
    **dict.fromkeys(("thu", "thur", "thurs"), "thursday"),
    **dict.fromkeys(("fri",), "friday"),
    **dict.fromkeys(("sat",), "saturday"),
    **dict.fromkeys(("sun",), "sunday"),
}

CUISINES = words_of(
    """
    afghan african american argentinian argentine armenian asian australasian australian
    austrian bangladeshi barbecue basque bavarian belgian brazilian british bulgarian burmese
    cajun californian canadian cantonese caribbean catalan chilean chinese christmas colombian
    corsican creole crossover cuban czech danish dutch egyptian english eritrean ethiopian
    european filipino finnish french fusion gastropub georgian german greek halal hungarian
    indian indonesian international iranian irish israeli italian jamaican japanese jewish
    korean kosher latvian lebanese lithuanian malaysian mediterranean mexican moroccan
    nepalese norwegian pakistani panasian persian peruvian polish polynesian portuguese
    romanian russian scandinavian scottish seafood serbian sichuan sicilian singaporean slovak
    spanish swedish swiss syrian taiwanese thai tibetan traditional tunisian turkish tuscan
    ukrainian unusual uzbek vegan vegetarian venetian vietnamese welsh
    albanian algerian alsatian angolan azerbaijani balinese balkan bengali bhutanese bolivian
    bosnian cambodian cameroonian croatian cypriot dominican ecuadorian emirati estonian flemish
    fijian ghanaian goan gujarati guatemalan hainanese haitian hakka hawaiian honduran hunanese
    icelandic iraqi ivorian jordanian kashmiri kazakh kenyan keralan kurdish laotian libyan
    lithuanian macanese malagasy malay maltese mauritian mongolian namibian neapolitan nicaraguan
    nigerian okinawan omani pakistani palestinian panamanian paraguayan provencal punjabi qatari
    salvadoran samoan sardinian saudi senegalese shanghainese slovenian somali sudanese
    szechuan szechwan tajik tamil tanzanian texmex trinidadian ugandan uruguayan uyghur venezuelan
    yemeni zambian zimbabwean
    """
)
LONG_CUISINES = (
    "asian oriental",
    "middle eastern",
    "modern american",
    "modern european",
    "modern eclectic",
    "modern global",
    "modern english",
    "new zealand",
    "north african",
    "north american",
    "north indian",
    "northern european",
    "south african",
    "south american",
    "south indian",
    "sri lankan",
    "latin american",
    "light bites",
    "the americas",
    "world cuisine",
    "fish and chips",
    "pan asian",
    "eastern european",
)
FOOD_SPELLINGS = {
    "gastropubs": "gastropub",
    "gastro pub": "gastropub",
    "gastro pubs": "gastropub",
    "sea food": "seafood",
    "oriental": "asian oriental",
    "asian": "asian oriental",
    "steakhouse": "steakhouse",
    "steakhouses": "steakhouse",
}

TYPES = {
    "hotel": {
        "hotel": ("hotel", "hotels"),
        "guesthouse": (
            *("guesthouse", "guesthouses", "guest house", "guest houses"),
            *("bed and breakfast", "bed and breakfasts", "b and b", "b and bs", "bnbs"),
        ),
    },
    "attraction": {
        "architecture": ("architecture", "architectural", "churches"),
        "boat": ("boat", "boats", "boating"),
        "cinema": ("cinema", "cinemas", "movie theatre", "movie theatres"),
        "college": ("college", "colleges"),
        "concerthall": ("concerthall", "concerthalls", "concert hall", "concert halls"),
        "entertainment": ("entertainment",),
        "multiple sports": ("multiple sports", "multiple sport", "sports"),
        "museum": ("museum", "museums", "art gallery", "art galleries"),
        "nightclub": ("nightclub", "nightclubs", "night club", "night clubs"),
        "park": ("park", "parks"),
        "swimmingpool": (
            *("swimmingpool", "swimmingpools", "swimming pool", "swimming pools"),
            *("pool", "pools"),
        ),
        "theatre": ("theatre", "theatres"),
    },
}
"""Domain → type as the database spells it → how it is said."""

PRICE_RANGES = {
    "cheap": (
        *("cheap", "cheaply priced", "cheaper", "cheapest", "inexpensive", "low priced"),
        *("affordable", "affordably priced", "budget friendly", "budget", "low cost", "economical"),
        "inexpensively priced",
    ),
    "moderate": (
        *("moderate", "moderately priced", "moderately", "mid priced", "mid range", "midrange"),
        *("mid price", "reasonably priced", "reasonable", "££"),
        *("medium priced", "averagely priced", "fairly priced", "moderate in price"),
    ),
    "expensive": (
        *("expensive", "high priced", "upscale", "upmarket", "pricey", "pricy"),
        *("high end", "highend", "costly", "luxurious", "expensively priced", "premium"),
        *("top end", "£££", "££££"),
    ),
}

CAR_COLOURS = (
    *("black", "white", "red", "yellow", "blue", "grey"),
    *("gray", "green", "silver", "orange", "purple", "brown"),
)
CAR_BRANDS = (
    *("toyota", "skoda", "bmw", "honda", "ford", "audi", "lexus", "volvo", "volkswagen", "tesla"),
    *("vw", "mercedes", "volkswagon"),
)

STATION_SPELLINGS = {
    "kings cross": ("london kings cross",),
    "liverpool street": ("london liverpool street",),
    "london liverpool": ("london liverpool street",),
    "stansted": ("stansted airport",),
    "standsted airport": ("stansted airport",),
    "birmingham": ("birmingham new street",),
    "bishop stortford": ("bishops stortford",),
    "london": ("london kings cross", "london liverpool street"),
}
"""Spelling → the stations that it may mean."""

HOTEL_TAILS = (
    *(("hotel",), ("guesthouse",), ("guest", "house"), ("bed", "and", "breakfast")),
    *(("b", "and", "b"), ("b&b",), ("guesthouses",)),
)
"""Words at the end of a hotel's name that say what it is, so that each may stand for another."""

DROPPED_TAILS = {
    "restaurant": (("restaurant",), ("city", "centre"), ("cambridge",)),
    "hotel": (("cambridge",),),
    "attraction": (("nightclub",), ("museum",), ("cinema",), ("theatre",), ("gallery",)),
}
"""Words at the end of a name that people leave out."""
ADDED_TAILS = {
    "restaurant": (("restaurant",),),
    "hotel": HOTEL_TAILS,
    "attraction": (("nightclub",), ("museum",), ("cinema",), ("theatre",), ("college",)),
}
"""Words that people put behind names that lack them."""

ORDINARY_WORDS = frozenset(
    words_of(
        """
    bridge autumn acorn carolina city express home house place junction gallery peking sesame
    cambridge university meze clowns rice efes scott castle club old college ask bloomsbury j
    arts great good golden royal little milton huntingdon pizza restaurant museum saint holy
    queens kings hotel gallery the curry jesus trinity people museum lucky home from rice
    india hk grafton frankie holiday hills chesterton
    """
    )
)
"""Words too common to be the whole of a name."""
GENERIC_WORDS = frozenset(
    words_of(
        """
    city cambridge great good university college house museum restaurant hotel saint old club
    gallery people rice home holiday pizza golden little the holy india
    """
    )
)
"""Words that do not stand for a name even when it was named."""

STREET_WORDS = frozenset(
    words_of(
        """
    street road lane way park yard place hill passage crescent avenue row common terrace
    parade square court close drive grove gardens quayside causeway ring end
    """
    )
)
STREETS = frozenset({"street", "road", "lane", "avenue", "drive", "terrace", "crescent"})
"""Words that end the name of a street wherever they are said of one."""
CAPITAL_STREETS = STREETS | frozenset(
    words_of("close court gardens grove mews parade passage row square walk way yard")
)
"""Words that do so where they have capitals."""
STREET_BEGINNINGS = frozenset(words_of("old new great little upper lower"))
"""Words in capitals that make another street of the one behind them."""
HOUSE_WORDS = frozenset(words_of("flat no suite unit"))
"""Words before the number of a house."""
TOWN = (("cambridge",),)
"""What may follow each address."""
TOWN_PARTS = (("city", "centre"), ("town", "centre"))
"""Parts of the town that may follow addresses, besides those that the database's addresses have."""
LINKING_WORDS = frozenset(
    words_of(
        """
    of and at by for the a in s one
    """
    )
)
"""Words that no name ends with."""

LANDMARK_PHRASES = (
    *("near", "near to", "nearest to", "close to", "closer to", "closest to"),
    *("next to", "next door to", "beside", "alongside", "adjacent to", "opposite", "opposite to"),
    *("behind", "beyond", "facing", "overlooking", "in front of", "at the back of"),
    *("across from", "street from", "road from", "around the corner from", "far from", "away from"),
    *("just off", "right off", "walk from", "minute walk to", "' walk to", "short walk to"),
    *("walking distance to", "distance of", "distance from", "drive from", "steps from"),
    *("minute from", "minutes from", "mile from", "miles from", "metres from", "meters from"),
    *(
        "throw from",
        "yards from",
        "block from",
        "blocks from",
        "vicinity of",
        "view of",
        "views of",
    ),
)
"""What is said before a place by which another is found: it is not on offer itself."""
LANDMARKS = {
    last: tuple(phrase for phrase in map(words_of, LANDMARK_PHRASES) if phrase[-1] == last)
    for last in dict.fromkeys(phrase.rpartition(" ")[2] for phrase in LANDMARK_PHRASES)
}
"""Last word → the words of each of these that ends with it."""
STREET_LANDMARKS = frozenset({"off"})
"""Words that do so before a street only: taxis drop off at hotels."""
SAYING = frozenset(words_of("is are was has have serves offers costs would looks sounds"))
"""Words after what a sentence is about."""
KIND_WORDS = {
    "restaurant": words_of(
        "restaurant brasserie bistro eatery diner pizzeria grill tavern taverna trattoria"
    ),
    "hotel": words_of("hotel guesthouse lodge inn lodging b&b hostel"),
    "attraction": words_of(
        "attraction museum college gallery theatre cinema park nightclub pool church gardens"
    ),
}
"""Domain → words that say what kind of venue something is."""

LABEL_WORDS = frozenset(
    words_of(
        """
    i it its i'm i'd i'll i've we we're you your they there this that these those here he she my
    what which who when where how would could can do does did is are was have has had will shall may
    should yes no not ok okay sure great alright absolutely sorry thank thanks please hello hi
    goodbye bye enjoy but if so also well let unfortunately any anything all both each another other
    a an the january february march april june july august september october november december
    cambridge cambridgeshire town city center centre central street road lane avenue drive close way
    square rd st ave free wifi wi-fi internet parking gbp pm am train trains taxi taxis cab police
    hospital station reference number phone telephone tel address postcode post code zip id booking
    bookings reservation confirmation confirmed confirm booked reserved table room rooms ticket
    tickets ref area part price prices priced total fee fees cost costs fare time times day days
    date night nights people person guest guests party star stars rating rated name names type kind
    cuisine food dish dishes style location located contact details detail info information email
    website site web page link menu hours opening open closed availability available included
    includes amenities facilities features highlights note notes tip tips summary overview option
    options choice choices pick recommendation recommendations suggestion suggestions result results
    found match matches best top good nice perfect excellent wonderful fantastic next step steps
    first second third last final other more new update status set ready done check check-in
    check-out checkout checkin arrival arrive arrives arriving departure depart departs departing
    leave leaves leaving destination origin route journey trip travel duration length return single
    double twin family per each from to at on in of for by with and or as about status pickup
    pick-up drop-off dropoff car driver make model colour color vehicle registration plate stay
    duration method payment card cash total entrance entry admission ticketed adult adults child
    children uk england london let's happy glad looking searching would like how's here's that's
    there's what's range low high mid budget quick quality service music art culture sports
    entertainment multiple boat concert hall swimming bed breakfast guest house bar pub see visit
    try also maybe here now just only then yet still after before welcome else towninfo towneinfo
    info help desk postal morning afternoon evening news luck regards cheers
    """
    )
)
"""Words of labels and of small talk, which are in capitals and are no names by themselves."""

FIELD_WORDS = frozenset(
    words_of(
        """
    pricerange entrancefee openhours opentime opening_hours trainid leaveat leave_at arriveby
    arrive_by departureday bookday booktime bookpeople bookstay bookingtime price_range entrance_fee
    open_hours train_id signature specialty speciality specialties specialities introduction
    description atmosphere ambience ambiance vibe takesbookings department choose perk perks
    highlight cancellation policy reason verdict rank category venue venues district
    neighbourhood neighborhood wireless fax cost/person budget
    """
    )
)
"""Fields of the tools and of the database, in one word, and labels that chat models use."""

OPENING_WORDS = frozenset(
    words_of(
        """
    their theirs them him her his hers me mine us our ours yours one ones some most many few several
    two four five six seven eight nine ten none neither nor either every everyone everything
    everybody someone something somebody somewhere anyone anybody nothing nobody nowhere elsewhere
    than though although because since unless until while whereas whether despite instead rather
    otherwise however therefore thus hence moreover furthermore besides meanwhile meantime anyway
    anyhow nonetheless nevertheless regardless perhaps indeed again always never often sometimes
    today tonight tomorrow yesterday soon later earlier once twice almost quite rather very too much
    might must ought were been being am wo ca were having doing done did
    out up down off over under into onto upon within without during between among against along
    across through toward towards around near nearby beside behind above below inside outside past
    ah aha oh ooh ohh hmm hm mm um uh wow yay yeah yep yup nope nah ha oops whoa gosh alas cool
    awesome super brilliant amazing lovely terrific splendid marvellous marvelous sounds sound
    understood understand agreed noted correct true right wrong fine sweet apologies apologize
    apologise pardon pleasure pleased sorry hope hopefully wish guess think believe feel know say
    said tell ask asked give given take taken make made get got go going come coming put keep call
    called text email write read hear heard show shown send sent wait want wanted wanna need needed
    like liked love loved prefer preferred consider considering based looks look seems seem appears
    appear plus minus same different such own whether wherever whenever whatever whichever whoever
    possible possibilities certainty unsuccessful successful success failed additional extra
    important alternative alternatives example warning caution attention reminder question questions
    answer answers request requests requirement requirements criteria preferences preference
    congratulations congrats cheerio farewell take care done finally lastly firstly secondly
    """
    )
)
"""Words that begin sentences, list items and headings, and are no names by themselves."""

HEADING_WORDS = frozenset(
    words_of(
        """
    access action advice afterwards alert allergies altogether amount assumption assumptions attire
    background bathroom beds beer beers benefits bonus bottom brunch cancelled candidates capacity
    casual caveat classic clean coffee comfortable comment comments completed concept conclusion
    conditions cons constraint constraints contemporary context convenient cosy count country county
    cozy cuisines currency data database deal deals decor décor deposit dessert desserts dietary
    dinner disclaimer discount discounts distance domain dress drinks elegant error eta exact
    example examples excludes explanation extras failure famous favorite favorites favourite
    favourites feature feedback filter filters fits flavors flavours focus followup follow-up formal
    fyi genre goal greetings gym heads hey hint hints historic history iconic ideal incorrect index
    ingredients insight insights intent item items key kitchen landmark landmarks least likewise
    line local locality lookup lunch luxury main mains map meal meals mood more negative objective
    offer offers outdoor indoor overall overview package pending persons pet pets picks place plan
    platform policies popular procedure pros ps purpose plural query quiet rationale ratings
    reasons recommend recommended record refund region remark remarks response review reviews
    romantic route runner-up rustic schedule score search serves shortlist similar size slot slots
    source sources spa spacious staff starters state strengths suggested suits superb takeaway task
    taste terms theme thought three timetable topic transit transport trendy unit updates url valet
    value values vibes via vicinity view views walk weaknesses weekday wheelchair why wine winner
    worst zipcode zone
    """
    )
)
"""Further words of labels and headings, which are no names where a layout sets them apart alone."""
