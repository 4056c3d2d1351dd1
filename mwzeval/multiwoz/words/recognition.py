"""Find candidates in one pass; candidates are parts of a response that may be values of slots.

Common words are values of the database only in certain contexts, as in `a hotel`, `free entry` and
`in central Cambridge`, but not in `the hotel`, `free parking` and `the central station`. The texts
`has free parking`, `parking: no`, `3 stars, parking, wifi` and `✅ Parking` claim whether a hotel
has parking; `parking needed?`, `if you want parking` and `parking nearby` do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from mwzeval.multiwoz.schema import FLAG_SLOTS
from mwzeval.multiwoz.words.gazetteer import (
    OFF,
    SAINT,
    SHORTEST,
    Gazetteer,
    Longest,
    has_digit,
)
from mwzeval.multiwoz.words.numbers import (
    NUMBER_STARTS,
    QUANTITY_STARTS,
    REFERENCE_LENGTH,
    Candidate,
    Meaning,
    identifier_at,
    is_reference,
    number_at,
    quantity_at,
)
from mwzeval.multiwoz.words.text import (
    NUMERIC,
    PLACEHOLDER,
    POSSESSIVE,
    SIGN,
    WORD,
    Tokens,
)
from mwzeval.multiwoz.words.vocabulary import LISTS, PATTERNS, TAILS, WORDS, Words, has_any, phrases

MOST_DULL = 2**14


OF_STATIONS = tuple(LISTS["of stations"])
"""Beginnings of words that stations follow."""
CAPITAL_STREETS = WORDS["streets"] | WORDS["capital streets"]
BEGINNINGS = frozenset(
    {
        *WORDS["split identifiers"],
        *QUANTITY_STARTS,
        *TAILS,
        *CAPITAL_STREETS,
        SAINT,
        *NUMBER_STARTS,
        *WORDS["dishes"],
    }
)
"""Words at the beginning or end of candidates that are not in the database."""


class Recognizer:
    """Finds text parts that may be values or names. Caches do not affect the results."""

    def __init__(self, gazetteer: Gazetteer) -> None:
        self._gazetteer = gazetteer
        self._dull: set[str] = set()

    def candidates(self, tokens: Tokens) -> list[Candidate]:
        """Return the candidate values of a text, in order and without overlaps."""
        words, kinds = tokens.words, tokens.kinds
        begins, dull = self._gazetteer.begins, self._dull
        found: list[Candidate] = []
        done = 0
        for index in [number for number, word in enumerate(words) if word not in dull]:
            if index < done:
                continue
            kind, word = kinds[index], words[index]
            read = None
            if word in begins or kind == POSSESSIVE:
                longest = self._gazetteer.longest(tokens, index)
                if longest is not None:
                    read = self._known(tokens, index, longest, found)
            elif self._is_dull(word, kind):
                if len(dull) >= MOST_DULL:
                    dull.clear()
                dull.add(word)
                continue
            if read is None and kind != PLACEHOLDER:
                read = self._unknown(tokens, index, found)
                # A candidate found backward may begin before the end of the previous candidate.
                while read is not None and found and found[-1].after > read.first:
                    found.pop()
            if read is not None:
                found.append(read)
                done = read.after
        return found

    def _is_dull(self, word: str, kind: int) -> bool:
        """Return whether a word that begins no value never has a meaning and can be skipped."""
        if kind in (SIGN, PLACEHOLDER):
            return word not in NUMBER_STARTS
        return (
            kind == WORD
            and len(word) != REFERENCE_LENGTH
            and word not in BEGINNINGS
            and not word[0].isdigit()
            and self._gazetteer.closest[word] is None
        )

    def _unknown(self, tokens: Tokens, index: int, found: list[Candidate]) -> Candidate | None:
        """Return a candidate that needs no database or is similar to a value of the database."""
        kind, word = tokens.kinds[index], tokens.words[index]
        if kind == NUMERIC or word in WORDS["split identifiers"]:
            identifier = identifier_at(tokens, index)
            if identifier is not None:
                return identifier
        elif len(word) == REFERENCE_LENGTH and is_reference(tokens, index):
            return Candidate.of_tokens(tokens, index, index + 1, "reference")
        if word[0].isdigit() or word in NUMBER_STARTS:
            return number_at(tokens, index)
        if kind < WORD:
            return None
        quantity = quantity_at(tokens, index)
        if quantity is not None:
            return quantity
        if len(word) >= SHORTEST and (near := self._near_miss(tokens, index)):
            return near
        known = self._gazetteer.words
        if word in WORDS["dishes"]:
            cuisine = _cuisine_beside(tokens, index, known)
            if cuisine is not None:
                food = Candidate.of_tokens(tokens, cuisine, cuisine + 1, "oddfood")
                return food._replace(after=max(cuisine, index) + 1)
        if word in TAILS:
            first = _first_of_name(tokens, index, known)
            if first is not None:
                return Candidate.of_tokens(tokens, first, index + 1, "name")
        if word in CAPITAL_STREETS or word == SAINT:
            begin = found[-1].after if found and found[-1].slot == "address" else 0
            first = _first_of_street(tokens, index, begin)
            if first is not None:
                meanings = self._gazetteer.near_street(tokens, first, index)
                street = Longest(index + 1, meanings, owner=False)
                return self._address(tokens, first, street, found)._replace(sure=False)
        return None

    def _near_miss(self, tokens: Tokens, index: int) -> Candidate | None:
        near = self._gazetteer.near_miss(tokens, index)
        if near is None:
            return None
        first, (after, meanings, _) = near
        if tokens.words[first] == "the":
            first += 1
        start, end = tokens.start(first), tokens.end(after - 1)
        if after == first + 1 and tokens.text[start].islower() and not tokens.without_capitals:
            return None
        return Candidate(start, end, first, after, meanings, False)

    def _known(
        self, tokens: Tokens, index: int, longest: Longest, found: list[Candidate]
    ) -> Candidate | None:
        """Return a candidate for a value of the database, or None if the context excludes it."""
        after, meanings = longest.after, longest.meanings
        if meanings[-1][0] == "tail":
            # A part of the town is a value only at the end of an address.
            meanings = meanings[:-1]
            if not meanings:
                return None
        slot = meanings[0][0]
        if slot == "address" or (slot == "name" and _is_where(tokens, index, meanings, found)):
            address = self._address(tokens, index, longest, found)
            if slot == "address" or address.after > after:
                return address
        if slot not in ("name", "short", "food"):
            meant = self._meant(tokens, index, after, meanings)
            if meant is None:
                return None
            after, meanings = meant
        first = _first_word(tokens, index, after)
        return Candidate(
            tokens.start(first), _last_end(tokens, after, longest), first, after, meanings
        )

    def _meant(
        self, tokens: Tokens, index: int, after: int, meanings: tuple[Meaning, ...]
    ) -> tuple[int, tuple[Meaning, ...]] | None:
        """Return the end and meanings of a value in its context, or None if it is not a value."""
        slot, value = meanings[0]
        word = tokens.words[index]
        before, following = tokens.word(index - 1), tokens.word(after)
        is_value = True
        if slot == "area":
            is_value = _is_area(tokens, index, after)
            rest = tuple(tokens.words[after : after + 4])
            after += next(
                (len(part) for part in phrases("parts of town") if rest[: len(part)] == part), 0
            )
        elif slot == "free":
            if following in WORDS["other free things"] or before in WORDS["giving"]:
                is_value = following in ("admission", "entrance", "entry")
        elif slot == "type":
            is_value = following not in WORDS["not behind types"]
            if before in WORDS["not before types"]:
                # `the museum` gets no placeholder, but `the museum X` states the type of X.
                is_value = is_value and value not in WORDS["hotel types"]
                meanings = (("thetype", value),)
        elif slot == "pricerange":
            is_loose = after == index + 1 and word in WORDS["loose price ranges"]
            is_value = (
                (not is_loose or following in WORDS["priced things"] or before == "price")
                and before != "how"
                and following not in WORDS["other priced things"]
            )
        elif slot == "day":
            is_value = "day" in word or before in WORDS["before short days"]
        elif slot in FLAG_SLOTS:
            answer = has_amenity(tokens.words, index, after)
            if answer is None:
                return None
            after, meanings = answer[0], ((slot, answer[1]),)
        elif slot == "place":
            is_value = _is_station(self._gazetteer, tokens, index, after)
        return (after, meanings) if is_value else None

    def _address(
        self, tokens: Tokens, index: int, longest: Longest, found: list[Candidate]
    ) -> Candidate:
        """Return the whole address that contains a street or building at a token.

        Its meanings are the addresses of the database that agree with all its parts.
        """
        addresses = [value for slot, value in longest.meanings if slot == "address"]
        first, numbers = _numbers_before(tokens, index)
        if first == index and (not found or found[-1].after < index):
            longer = _first_of_other_street(tokens, index)
            if longer is not None:
                first, addresses = longer, []
        while found and found[-1].after > first:
            if found[-1].slot not in ("choice", "people", "stay", "time", "stars"):
                first, numbers = index, ()
                break
            found.pop()
        if first == index:
            first = _first_word(tokens, index, longest.after)
        tails = []
        while True:
            goes_on, more = _numbers_from(tokens, _next_part(tokens, longest.after))
            if goes_on >= len(tokens.words):
                break
            between = tokens.text[tokens.end(longest.after - 1) : tokens.start(goes_on)]
            if "\n" in between:
                break
            part = self._gazetteer.longest(tokens, goes_on)
            if part is None:
                break
            if part.meanings[-1][0] == "tail":
                tails.append(part.meanings[-1][1])
            else:
                both = [value for value in addresses if ("address", value) in part.meanings]
                if not both:
                    break
                addresses = both
                numbers += more
            longest = part
        known = self._gazetteer.addresses
        meanings = tuple(
            ("address", value) for value in addresses if known[value].allows(numbers, tails)
        )
        return Candidate(
            tokens.start(first),
            _last_end(tokens, longest.after, longest),
            first,
            longest.after,
            meanings or (("address", ""),),
        )


def _is_where(
    tokens: Tokens, index: int, meanings: tuple[Meaning, ...], found: list[Candidate]
) -> bool:
    """Return whether a name may begin an address, as in `Milton Country Park, Milton`.

    The first occurrence of a venue's name is always read as a name.
    """
    return meanings[-1][0] == "address" and (
        has_any("address cues", tokens.words[max(0, index - 4) : index])
        or any(candidate.meanings[0] == meanings[0] for candidate in found)
    )


def _first_word(tokens: Tokens, index: int, after: int) -> int:
    """Return the first token of a value, including an article if it has a capital."""
    is_article = tokens.words[index] == "the" and tokens.text[tokens.start(index)] == "t"
    return index + 1 if is_article and after > index + 1 else index


def _last_end(tokens: Tokens, after: int, longest: Longest) -> int:
    """Return the end position of a value in the text, without a possessive "s"."""
    if longest.owner:
        return tokens.start(after - 1) + len(tokens.words[after - 1]) - 1
    return tokens.end(after - 1)


# Conditions for values of the database, and values that the database does not have


def _is_area(tokens: Tokens, index: int, after: int) -> bool:
    word, before, following = tokens.words[index], tokens.word(index - 1), tokens.word(after)
    if before == "towninfo" or following in WORDS["elsewhere"]:
        return False
    if (
        word == "central"
        and before not in ("in", "very")
        and following not in WORDS["behind central"]
    ):
        return False
    if word in ("eastern", "western", "southern") and following not in WORDS["sides"]:
        return False
    return following != "end" or tokens.word(after + 1) == "of" or before == "the"


def _is_station(gazetteer: Gazetteer, tokens: Tokens, first: int, after: int) -> bool:
    """Return whether a place is the start or end of a journey. "Cambridge" may be neither."""
    words = tokens.words
    before, following = tokens.word(first - 1), tokens.word(after)
    if before in WORDS["enjoyed"]:
        return False
    if words[first] != "cambridge" or after > first + 1:
        return True
    earlier = words[max(0, first - 5) : max(0, first - 1)]
    if before == "to" and has_any("visits", earlier[-1:]) and following != "from":
        return False
    return (
        before in WORDS["before stations"]
        or following in ("at", "by", "to")
        or has_any("arrows", (before, following))
        or before == ">"
        or before == following == "|"
        or ":" in following[1:]
        or (before == "and" and "between" in earlier)
        or words[after : after + 2] == ["-", ">"]
        or (before == "of" and earlier[-1:] == ["out"])
        or (
            before in (":", "|", "in", "at")
            and any(w.startswith(OF_STATIONS) for w in earlier[-3:])
        )
        or _is_beside_place(gazetteer, tokens, first, after)
    )


def _is_beside_place(gazetteer: Gazetteer, tokens: Tokens, first: int, after: int) -> bool:
    """Return whether only a dash separates a place from another place: `Ely-Cambridge`."""

    def end(index: int) -> int | None:
        other = gazetteer.longest(tokens, index)
        return other.after if other and other.meanings[0][0] == "place" else None

    if tokens.word(first - 1) == "-":
        return any(end(index) == first - 1 for index in range(max(0, first - 4), first - 1))
    return (
        tokens.word(after) == "-" and after + 1 < len(tokens.words) and end(after + 1) is not None
    )


def _cuisine_beside(tokens: Tokens, index: int, known: frozenset[str]) -> int | None:
    """Return the token, before this token or after a label, of a cuisine that no venue has.

    The cuisine has the form of an adjective of nationality, has a capital, and does not begin a
    sentence: `serves Martian food`, `Cuisine: Martian`, but not `Great food` or `Sunday dishes`.
    """
    kinds = tokens.kinds
    if tokens.word(index + 1) == ":" and kinds[index + 2 : index + 3] == [WORD]:
        place = index + 2
        alone = tokens.word(place + 1) in ("", *"¶.,;|)-")
    else:
        place = index - 1
        alone = place > 0 and kinds[place] == WORD and kinds[place - 1] >= WORD
    if not alone or (tokens.is_capital(index) and place < index):
        return None
    word = tokens.words[place]
    looks = PATTERNS["of a people"].fullmatch(word) and len(word) > 4
    is_new = word not in known and word not in WORDS["no people"]
    return place if looks and is_new and tokens.is_capital(place) else None


def _first_of_name(tokens: Tokens, index: int, known: frozenset[str]) -> int | None:
    """Return the first token of a name that ends with this token, or None if it is no name.

    All words of a name have capitals, and at least one word that does not begin a sentence is not
    in the database: `Indian Restaurant` and `Restaurants` are not names.
    """
    if not tokens.is_capital(index):
        return None
    first, telling = index, False
    for before in range(index - 1, max(-1, index - 1 - 4), -1):
        if tokens.kinds[before] < WORD or not tokens.is_capital(before):
            break
        is_known = tokens.words[before] in known
        telling = telling or not (is_known or _begins_sentence(tokens, before))
        first = before
    while first < index and (tokens.words[first] in known or _begins_sentence(tokens, first)):
        first += 1
    return first if telling and first < index else None


def _begins_sentence(tokens: Tokens, index: int) -> bool:
    return tokens.word(index - 1) in ".!?"


# Addresses


def _is_house_number(tokens: Tokens, index: int) -> bool:
    """Return whether a word can be a house number: `12`, `517a`, `g4`, unit `su43`."""
    if index < 0 or index >= len(tokens.words) or tokens.kinds[index] != NUMERIC:
        return False
    word, after_unit = tokens.words[index], tokens.word(index - 1) in WORDS["house words"]
    return (after_unit and has_digit(word)) or PATTERNS["house number"].fullmatch(word) is not None


def _numbers_before(tokens: Tokens, index: int) -> tuple[int, tuple[str, ...]]:
    """Return the first token of the house numbers that end before a token, and the numbers."""
    words, kinds = tokens.words, tokens.kinds
    first = index
    if (
        index > 1
        and words[index - 1] == ","
        and (
            index == 2
            or kinds[index - 3] == SIGN
            or words[index - 3] in WORDS["before house numbers"]
        )
    ):
        # Unit 8, Viking Way
        first -= 1
    numbers: list[str] = []
    while _is_house_number(tokens, first - 1):
        first -= 1
        numbers.append(words[first])
        if first < 2 or words[first - 1] not in ("-", "/") or kinds[first - 2] != NUMERIC:
            break
        first -= 1
    letter = tokens.word(index - 1)
    if not numbers and len(letter) == 1 and letter.isalpha() and tokens.word(index - 2).isdigit():
        # 2 G Otter Road
        first = index - 2
        numbers.append(words[first] + letter)
    if not numbers:
        return index, ()
    # No. 5
    unit = first - 2 if tokens.word(first - 1) == "." else first - 1
    return unit if tokens.word(unit) in WORDS["house words"] else first, tuple(numbers)


def _numbers_from(tokens: Tokens, index: int) -> tuple[int, tuple[str, ...]]:
    """Return the token after the house numbers that begin at a token, and the numbers."""
    after = index
    if tokens.word(after) in WORDS["house words"]:
        after += 2 if tokens.word(after + 1) == "." else 1
    numbers: list[str] = []
    while _is_house_number(tokens, after):
        numbers.append(tokens.words[after])
        after += 1
        if tokens.word(after) in ("-", "/") and tokens.kinds[after + 1 : after + 2] == [NUMERIC]:
            after += 1
    return after, tuple(numbers)


def _next_part(tokens: Tokens, index: int) -> int:
    """Return the token at which the next part of an address begins."""
    if tokens.word(index) == "." and tokens.word(index + 1) == ",":
        # 23 High St., Fen Ditton
        index += 2
    elif tokens.word(index) == ",":
        index += 1
    return index + 1 if tokens.word(index) == OFF else index


def _first_of_other_street(tokens: Tokens, index: int) -> int | None:
    """Return the first token of a street that ends with a known street, as in `Old Mill Road`.

    The street has a house number or begins with a word such as `Old`. Returns None if there is
    none.
    """
    before = index - 1
    if (
        before < 0
        or tokens.kinds[before] < WORD
        or tokens.words[before] in WORDS["no street"]
        or not tokens.is_capital(before)
    ):
        return None
    first, numbers = _numbers_before(tokens, before)
    return first if numbers or tokens.words[before] in WORDS["street beginnings"] else None


def _first_of_street(tokens: Tokens, index: int, begin: int) -> int | None:
    """Return the first token of a street that ends with a token, or None if there is none.

    The street follows a house number or has capitals, and it begins at or after the token `begin`.
    """
    words, kinds = tokens.words, tokens.kinds
    capital = tokens.is_capital(index)
    after = index + 1
    # Mill Road Cemetery
    named = (
        after < len(words)
        and kinds[after] >= WORD
        and tokens.text[tokens.end(index) : tokens.start(after)] == " "
        and tokens.is_capital(after)
    )
    is_street = words[index] in WORDS["streets"]
    if words[index] == SAINT:
        is_street = tokens.end(index) - tokens.start(index) == len("St") and not named
    if not (is_street or (capital and words[index] in CAPITAL_STREETS)):
        return None
    first = index
    for before in range(index - 1, max(begin, index - 3) - 1, -1):
        if kinds[before] < WORD or words[before] in WORDS["no street"]:
            break
        if capital and not tokens.is_capital(before):
            break
        first = before
    if first == index:
        return None
    numbered = bool(_numbers_before(tokens, first)[1])
    return first if numbered or (capital and is_street and not named) else None


_LANDMARKS: dict[str, list[Words]] = {}
for _phrase in phrases("landmarks"):
    _LANDMARKS.setdefault(_phrase[-1], []).append(_phrase)


def in_landmark_phrase(tokens: Tokens, index: int, *, street: bool) -> bool:
    """Return whether the place at a token only describes the location of another place."""
    last = index - 2 if tokens.word(index - 1) == "the" and index > 1 else index - 1
    if last < 0:
        return False
    if street and tokens.words[last] == OFF:
        # Hotels are the destinations of taxis.
        return True
    return any(
        tuple(tokens.words[max(0, last + 1 - len(phrase)) : last + 1]) == phrase
        for phrase in _LANDMARKS.get(tokens.words[last], ())
    )


# Amenities of hotels

YES, NO = "yes", "no"
FARTHEST = 14
"""Maximum distance in words between an amenity and the words that state whether it exists."""


def has_amenity(words: Sequence[str], index: int, after: int) -> tuple[int, str] | None:
    """Return the index of the token after a statement about an amenity, and the value "yes" or
    "no".

    The words of the amenity are those from `index` to `after`. Returns None if the amenity is only
    requested or wished for.
    """
    later = words[after : after + FARTHEST]
    earlier = words[max(0, index - FARTHEST) : index][::-1]
    before = list(takewhile(lambda word: word not in WORDS["ends of clauses"], earlier))
    if (
        "?" in takewhile(lambda word: word not in ".!¶", later)
        or has_any("information", later[:1])
        or has_any("wishes", before)
    ):
        return None
    qualities = len(list(takewhile(WORDS["qualities"].__contains__, before)))
    is_without = has_any("without", before[qualities : qualities + 1])
    behind = _behind_amenity(later)
    if behind is None:
        if has_any("not in hotels", later[:1]):
            return None
        sign = words[index - qualities - 1] if index > qualities else ""
        is_free = words[index] == "free" or has_any("free", words[max(0, index - 1) : index])
        answer = NO if is_without else _before_amenity(before, qualities, sign, later, is_free)
        return None if answer is None else (after, answer)
    count, answer = behind
    if answer == YES:
        if has_any("not in hotels", later[count : count + 2]):
            return None
        if is_without:
            answer = NO
        elif has_any("denied", before):
            return None
    return after + count, answer


def _behind_amenity(later: Sequence[str]) -> tuple[int, str] | None:
    """Return how many words after an amenity state whether it exists, and what they state."""
    if later[:3] in (["isn", "'", "t"], ["aren", "'", "t"]):
        return None if has_any("open", later[3:4]) else (4, NO)
    link = later[0] if has_any("links to amenities", later[:1]) else ""
    at = 0
    if link:
        at = 1 + len(list(takewhile(WORDS["adverbs"].__contains__, later[1:])))
    rest = list(later[at : at + 3])
    if not rest:
        return None
    if len(rest) > 1 and (rest[0] in WORDS["not"] or (link and rest == ["n", "'", "t"])):
        return (at + 2, NO) if link and not has_any("open", rest[1:2]) else None
    ended = len(rest) < 2 or not rest[1].isalpha()
    if rest[0] in WORDS["has not"] and (ended or (link and link not in ("is", "are"))):
        return at + 1, NO
    is_plain = ended or link or rest[0] in ("available", "included", "provided")
    return (at + 1, YES) if rest[0] in WORDS["has"] and is_plain else None


def _before_amenity(
    before: Sequence[str], qualities: int, sign: str, later: Sequence[str], is_free: bool
) -> str | None:
    """Return whether an amenity exists according to the words before it, or None if unknown.

    `sign` is the token before `qualities` such as `free`.
    """
    verb = next((at for at, word in enumerate(before) if word in WORDS["having"]), None)
    if verb is not None:
        between, earlier = before[:verb], before[verb + 1 :]
        if has_any("not", earlier[:1]):
            return None if has_any("none", between) else NO
        if not has_any("denied", between):
            return None if has_any("denied", earlier) else YES
        # `no parking, wifi` and `not parking` are ambiguous; `no parking or wifi` is not.
        if between[0] in ("or", "nor") and has_any("without", between):
            return NO
        return YES if is_free else None
    if has_any("denied", before):
        return None
    if is_free:
        return YES
    if sign in WORDS["crosses"]:
        return NO
    listed = sign in WORDS["before listed"] and (not later or later[0] in WORDS["behind listed"])
    return YES if listed and not has_any("asking", before) else None
