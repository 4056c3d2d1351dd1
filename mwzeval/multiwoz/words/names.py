"""Find names of venues in a response that are not in the database.

The layout (a list item, the first cell of a row, emphasis, quotes) and adjacent words (`recommend`,
`booked at`, `the phone number of`, `… is in the north`) show where a name is expected. Capitalized
words at a position where a name is expected are treated as a name. A name is known if all its words
are in the name of one venue in the database. A single word in common is not enough (`Riverside
Lodge`, `Riverside Brasserie`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property, lru_cache
from typing import NamedTuple

from rapidfuzz import process
from rapidfuzz.fuzz import ratio

from mwzeval.multiwoz.schema import DAYS, VENUE_DOMAINS
from mwzeval.multiwoz.words.gazetteer import Gazetteer
from mwzeval.multiwoz.words.text import LANDMARK, Cache, Mention, Shown, fold, shown
from mwzeval.multiwoz.words.vocabulary import KINDS, PATTERNS, SPELLINGS, WORDS

DOMAIN_OF = {f"{kind}{end}": domain for kind, domain in KINDS.items() for end in ("", "s")}
"""The domain of each word for a kind of venue."""
NO_NAMES = frozenset(
    {
        *WORDS["labels"],
        *WORDS["fields"],
        *(form for day in DAYS for form in (day, f"{day}s", day[:3])),
        *(form for area in SPELLINGS["area"] for form in (area, f"{area}ern")),
        *(
            word
            for slot in ("food", "pricerange")
            for spellings in SPELLINGS[slot].values()
            for spelling in spellings
            for word in spelling.split()
        ),
    }
)
"""Capitalized words that are no names and do not begin a name."""


def is_ordinary(word: str) -> bool:
    """Return whether a word in lower case is neither a name nor the beginning of one."""
    return (
        word in NO_NAMES
        or word in WORDS["openings"]
        or PATTERNS["adverb"].fullmatch(word) is not None
    )


def is_heading(words: Iterable[str]) -> bool:
    """Return whether emphasized words (given in lower case) are a label, such as `Dress code`."""
    return all(
        is_ordinary(word) or word in WORDS["headings"] or PATTERNS["heading"].fullmatch(word)
        for word in words
    )


VALUES = {
    "food": "restaurant",
    "stars": "hotel",
    "entrancefee": "attraction",
    "area": None,
    "pricerange": None,
    "type": None,
    "phone": None,
    "postcode": None,
    "address": None,
}
"""Slots whose values, next to a name, show that the name is the name of a venue; with the venue's
domain, or None if several domains are possible."""


LONGEST = 2**12
"""Maximum number of characters that are read. Longer responses are truncated."""

SHORT_NAME = 2
"""Number of words in a short name, of which one word is distinctive."""
MISSPELT = 80
"""Minimum similarity at which a single word is read as a misspelled ordinary word."""
NEARLY = 90
"""Minimum similarity at which a name is read as a misspelled name of a venue."""
AS_WRITTEN = 85
"""Minimum similarity at which a word is read as a misspelled word of a venue's name."""


_IS_TELLING = Cache(
    lambda word: (
        word not in DOMAIN_OF and word not in WORDS["neutral words"] and not is_ordinary(word)
    )
)
"""Maps a word in lower case to whether it is neither small talk nor a kind of venue."""


class _Phrase(NamedTuple):
    """A part of the displayed text that may contain a name.

    `strong` is true if the layout marks the part as a name, and `heads` is true if the part begins
    a line. The distinctive words begin at `own`, after an article and words of small talk.
    """

    start: int
    end: int
    strong: bool
    heads: bool = False
    own: int = 0


def with_unknown_names(
    response: str, mentions: Sequence[Mention], active: Sequence[str], gazetteer: Gazetteer
) -> tuple[Mention, ...]:
    """Return the mentions of a response, including names that are not in the database.

    Mentions inside an unknown name are removed. `active` are the active domains of the turn, which
    determine the domain of a name without other evidence.
    """
    text = shown(response[:LONGEST])
    names = list(_Names(response, text, mentions, active, gazetteer).unknown())
    if not names:
        return tuple(mentions)
    kept = [
        mention
        for mention in mentions
        if not any(mention.start < name.end and name.start < mention.end for name in names)
    ]
    return tuple(sorted((*kept, *names), key=lambda mention: mention.start))


class _Names:
    """Finds names in a response."""

    def __init__(
        self,
        response: str,
        text: Shown,
        mentions: Sequence[Mention],
        active: Sequence[str],
        gazetteer: Gazetteer,
    ) -> None:
        self._gazetteer = gazetteer
        self._response = response
        self._shown = text
        self._text = text.text
        # the mentions with their positions in the displayed text
        self._mentions = [mention for mention in mentions if mention.end <= LONGEST]
        if text.places is not None:
            places = [text.shown_at(mention.start, mention.end) for mention in self._mentions]
            self._mentions = [
                mention._replace(start=start, end=end)
                for mention, (start, end) in zip(self._mentions, places, strict=True)
            ]
        self._active = active

    def unknown(self) -> Iterator[Mention]:
        """Yield names that are not in the database, as mentions without a value."""
        done = -1
        landmarks = {mention.end for mention in self._mentions if mention.slot == LANDMARK}
        for phrase in self._phrases():
            if phrase.start < done:
                continue
            own = self._own_words(phrase)
            if own is None:
                continue
            if not self._is_named(own):
                if own.strong:
                    done = own.end
                continue
            if not self._is_unknown(own):
                continue
            start, end = self._shown.place(own.own, own.end)
            done = own.end
            if self._is_landmark(own, landmarks):
                landmarks.add(own.end)
                yield Mention(start, end, self._response[start:end], LANDMARK, None)
                continue
            domain = self._domain(own)
            if domain or not self._active or not {*VENUE_DOMAINS}.isdisjoint(self._active):
                yield Mention(start, end, self._response[start:end], "name", domain)

    def _phrases(self) -> list[_Phrase]:
        """Return possible names in the order of the text, the most likely reading first."""
        text = self._text
        found = [
            phrase for match in PATTERNS["capitals"].finditer(text) for phrase in self._prose(match)
        ]
        found += [
            _Phrase(match.start(), match.end(), False)
            for match in PATTERNS["single capital"].finditer(text)
            if not _is_known(self._gazetteer, match[0])
        ]
        if self._shown.places is not None or '"' in text:
            quoted = (match.span(1) for match in PATTERNS["quoted"].finditer(text))
            for start, end in (*self._shown.emphasized, *quoted):
                match = PATTERNS["phrase"].fullmatch(text, start, end)
                if match:
                    heads = any(start == block.start for block in self._shown.blocks)
                    found.append(_Phrase(*match.span("name"), True, heads))
            found += self._heads()
        return sorted(found, key=lambda phrase: (phrase.start, not phrase.strong, -phrase.end))

    @cached_property
    def _is_titled(self) -> bool:
        """Whether nearly all words are capitalized, so that capitals carry no information."""
        words = re.findall(r"[^\W\d_]{2,}", self._text)
        capitals = sum(word[0].isupper() for word in words)
        return len(words) >= 8 and capitals > 0.6 * len(words)

    def _prose(self, match: re.Match[str]) -> Iterator[_Phrase]:
        """Yield a capitalized part of the text or, if it has a venue, the parts around `and`."""
        start, end = match.span()
        if any(m.start <= start and end <= m.end and m.value for m in self._mentions):
            return
        if any(m.slot in ("name", LANDMARK) for m in self._mentions_in(start, match.end())):
            for joined in PATTERNS["and"].finditer(self._text, start, match.end()):
                if self._mentions_in(joined.start(), joined.start() + 1):
                    continue
                yield _Phrase(start, joined.start(), False)
                start = joined.end()
        yield _Phrase(start, match.end(), False)

    def _heads(self) -> Iterator[_Phrase]:
        for block in self._shown.blocks:
            if block.cells:
                match = PATTERNS["phrase"].fullmatch(self._text, *block.cells[0])
            elif block.depth % 3 or block.depth < 0:
                match = PATTERNS["head"].match(self._text, block.start, block.end)
            else:
                continue
            if match:
                yield _Phrase(*match.span("name"), True, True)

    def _own_words(self, phrase: _Phrase) -> _Phrase | None:
        """Return a phrase with the position of its distinctive words, or None if too few."""
        words = list(PATTERNS["single word"].finditer(self._text, phrase.start, phrase.end))
        first = 0
        while first < len(words) and is_ordinary(
            PATTERNS["possessive"].sub("", words[first][0].lower())
        ):
            first += 1
        while words and words[-1][0].lower() in WORDS["labels behind names"]:
            words.pop()
        own = [word[0] for word in words[first:]]
        telling = [word for word in own if _IS_TELLING[word.lower()]]
        if not telling or own[-1].lower() in WORDS["ends of streets"]:
            return None
        joined = "".join(telling)
        if not phrase.strong and joined.isupper() and not joined.isalpha():
            return None
        end = words[-1].end()
        # A possessive ending is not part of the name: "Purple Frog's number is …".
        ending = PATTERNS["possessive"].search(self._text, words[-1].start(), end)
        if ending and not phrase.strong:
            end = ending.start()
        # A name may begin with an article in the middle of a sentence: "If the Purple Frog …".
        behind_article = first and words[first - 1][0].lower() == "the"
        start = words[first - 1].start() if behind_article else phrase.start
        return phrase._replace(start=start, end=end, own=words[first].start())

    def _is_named(self, name: _Phrase) -> bool:
        """Return whether adjacent words or the layout show that the phrase is a name."""
        text = self._text
        before = text[max(0, name.start - 40) : name.start]
        behind = text[name.end : name.end + 60]
        own = text[name.own : name.end].lower().split()
        words = len(own)
        if PATTERNS["of a street"].match(behind) or (
            not name.strong and PATTERNS["of food"].match(behind)
        ):
            return False
        if PATTERNS["before a name"].search(before):
            return True
        is_said = PATTERNS["saying"].match(behind)
        if name.strong:
            if is_heading(own) or PATTERNS["continued"].match(behind):
                return False
            if PATTERNS["colon"].match(behind) or words == 1:
                return name.heads and self._begins_item(name) and not self._is_label(name)
            ends = PATTERNS["ending"] if name.heads else PATTERNS["placed"]
            return bool(is_said or ends.match(behind)) or self._ends_with_kind(name)
        begins = PATTERNS["beginning of a clause"].search(before)
        if words > 1 and ((begins and is_said) or self._ends_with_kind(name)):
            return True
        is_within = self._is_within(name) or PATTERNS["within a sentence"].search(before)
        return bool(is_within) and not self._is_titled

    def _is_within(self, name: _Phrase) -> bool:
        """Return whether distinctive capitalized words follow the first word of a sentence."""
        own = PATTERNS["single word"].findall(self._text, name.own, name.end)
        later = own if name.own > name.start else own[1:]
        return any(word[0].isupper() and _IS_TELLING[word.lower()] for word in later)

    def _is_landmark(self, name: _Phrase, landmarks: Collection[int]) -> bool:
        """Return whether a name only locates another place. Other landmarks end at `landmarks`."""
        before = self._text[max(0, name.own - 40) : name.own]
        linked = PATTERNS["linked"].search(before)
        return bool(PATTERNS["before a landmark"].search(before)) or (
            linked is not None and name.own - len(linked[0]) in landmarks
        )

    def _begins_item(self, name: _Phrase) -> bool:
        """Return whether a line describes a venue and does not belong to another description."""
        blocks = self._shown.blocks
        number = self._shown.block_at(name.start)
        block = blocks[number]
        if not any(m.slot in VALUES for m in self._mentions_in(name.end, block.end)):
            return False
        above = block.parent
        while above is not None:
            if any(
                m.slot == "name" for m in self._mentions_in(blocks[above].start, blocks[above].end)
            ):
                return False
            above = blocks[above].parent
        return True

    def _is_label(self, name: _Phrase) -> bool:
        """Return whether a line consists of a label and a database value, as in `Vibe: cheap`."""
        colon = PATTERNS["colon"].match(self._text, name.end)
        if colon is None:
            return False
        block = self._shown.blocks[self._shown.block_at(name.start)]
        values = self._mentions_in(colon.end(), block.end)
        if len(values) != 1:
            return False
        around = self._text[colon.end() : values[0].start] + self._text[values[0].end : block.end]
        return not any(character.isalnum() for character in around)

    def _ends_with_kind(self, name: _Phrase) -> bool:
        words = self._text[name.own : name.end].lower().split()
        return len(words) > 1 and words[-1] in DOMAIN_OF

    def _mentions_in(self, start: int, end: int) -> list[Mention]:
        return [m for m in self._mentions if m.start < end and start < m.end]

    def _is_unknown(self, name: _Phrase) -> bool:
        """Return whether neither a venue nor any other value of the database has this name."""
        if tuple(fold(self._text[name.own : name.end])) in self._gazetteer.places:
            return False
        inside = self._mentions_in(name.own, name.end)
        venues: set[str] = set()
        for mention in inside:
            if mention.slot in WORDS["slots never in names"] or (
                mention.slot == "name" and not mention.value
            ):
                return False
            if mention.value and mention.slot in ("name", "departure", "destination"):
                if name.strong and self._is_short_of_another(name, mention):
                    return True
                venues.update(fold(mention.value))
        left = [
            word
            for match in PATTERNS["single word"].finditer(self._text, name.own, name.end)
            for word in fold(match[0])
            if not any(mention.start <= match.start() < mention.end for mention in inside)
        ]
        if not any(_IS_TELLING[word] and not _is_of(word, venues) for word in left):
            return self._is_of_another_kind(name, venues)
        known = [mention.end for mention in inside if mention.slot == "name"]
        begins_sentence = not PATTERNS["within a sentence"].search(
            self._text[max(0, name.start - 40) : name.start]
        )
        if known and begins_sentence and known[-1] >= name.end:
            # The other words begin the sentence, as in "Compare Riverside Brasserie".
            return False
        words = [
            w for w in fold(self._text[name.start : name.end]) if w not in WORDS["neutral words"]
        ]
        said = " ".join(words)
        if any(ratio(said, spelling) >= NEARLY for spelling in _telling_names(self._gazetteer)):
            return False
        telling = {word for word in words if _IS_TELLING[word]}
        is_short = name.strong and len(telling) < SHORT_NAME
        return not any(
            all(_is_of(word, called) for word in words)
            and not (is_short and any(_IS_TELLING[w] and w not in telling for w in called))
            for called in self._gazetteer.names
        )

    def _is_short_of_another(self, name: _Phrase, mention: Mention) -> bool:
        """Return whether a name is the short form of a venue in a domain that is not active."""
        whole = set(fold(mention.value or "")) - WORDS["neutral words"]
        if whole.issubset(fold(self._text[name.start : name.end])):
            return False
        return self._told_domain(name) not in (None, mention.domain)

    def _is_of_another_kind(self, name: _Phrase, venues: AbstractSet[str]) -> bool:
        """Return whether a name ends with another kind of venue, as in `Magdalene Theatre`."""
        words = fold(self._text[name.own : name.end])
        kinds = [DOMAIN_OF[word] for word in venues & DOMAIN_OF.keys()]
        last = words[-1]
        # A hotel may be called a guesthouse, but a theater may not be called a museum.
        return (
            len(words) == SHORT_NAME
            and last in DOMAIN_OF
            and last not in venues
            and bool(kinds)
            and (DOMAIN_OF[last] == "attraction" or DOMAIN_OF[last] not in kinds)
        )

    def _domain(self, name: _Phrase) -> str | None:
        """Return the domain of a name according to its line or, failing that, to the turn."""
        told = self._told_domain(name)
        venues = [domain for domain in self._active if domain in VENUE_DOMAINS]
        return told or (venues[0] if len(venues) == 1 else None)

    def _told_domain(self, name: _Phrase) -> str | None:
        """Return the domain according to the words of a name or the text after it in the line."""
        for word in reversed(self._text[name.own : name.end].lower().split()):
            if word in DOMAIN_OF:
                return DOMAIN_OF[word]
        block = self._shown.blocks[self._shown.block_at(name.start)]
        kind = PATTERNS["kind"].search(self._text, name.end, min(block.end, name.end + 60))
        if kind:
            return DOMAIN_OF[kind[0].lower()]
        for mention in self._mentions_in(name.end, block.end):
            if mention.slot == "name":
                break
            if domain := VALUES.get(mention.slot):
                return domain
        return None


@lru_cache(maxsize=2**12)
def _is_known(gazetteer: Gazetteer, text: str) -> bool:
    """Return whether a word is small talk or in the database, possibly misspelled."""
    word = PATTERNS["possessive"].sub("", text.lower()).removeprefix("the ")
    words = (*NO_NAMES, *DOMAIN_OF, *gazetteer.words)
    return (
        not _IS_TELLING[word]
        or process.extractOne(word, words, scorer=ratio, score_cutoff=MISSPELT) is not None
    )


@lru_cache(maxsize=2**3)
def _telling_names(gazetteer: Gazetteer) -> tuple[str, ...]:
    """Return the names of venues, reduced to the words that distinguish venues."""
    return tuple(
        " ".join(word for word in name if word not in WORDS["neutral words"])
        for name in gazetteer.names
    )


def _is_of(word: str, called: Collection[str]) -> bool:
    """Return whether a word is in a name, possibly misspelled."""
    return word in called or (
        len(word) >= 4 and any(ratio(word, other) >= AS_WRITTEN for other in called)
    )
