"""Noise in the messages of users: shorter wordings, slips, typos, fillers, small talk, lower case.

An altered word is used only if it can be decoded. This means that it is not another known word,
that the right word is the nearest of all words of values, and that an altered name finds the same
venues.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import accumulate, chain, combinations
from operator import itemgetter
from random import Random
from typing import Any

import Levenshtein

from mwzeval.conversation.agents import MakeUser
from mwzeval.conversation.messages import MEANT, AgentTurn, Utterance, user_message
from mwzeval.conversation.protocols import User
from mwzeval.multiwoz.database import Row
from mwzeval.multiwoz.live.stress import Conditions, Stress, table
from mwzeval.multiwoz.live.tools import DatabaseTools
from mwzeval.multiwoz.schema import DAYS, VENUE_DOMAINS
from mwzeval.multiwoz.words.vocabulary import LISTS, SPELLINGS, keyed_rows

ATTEMPTS = 5
"""The number of alterations that are tried for a word or name before it is left unchanged."""
MOST_EDITS = 2
MOST_LETTERS = 30
"""The number of letters of the longest word that is altered."""
MOST_CHARACTERS = 10_000
"""The number of characters of the longest message with noise."""
SHORTEST = 4
"""The number of letters of the shortest word that is misspelt."""
TYPOS = ("neighbour", "omitted", "doubled", "swapped")
TYPO_RATES = tuple(accumulate((0.35, 0.25, 0.2, 0.2)))
"""The cumulative proportions of these errors."""
JOINED = 1 / 3
"""The proportion of altered names in which two words are joined."""
REPEATED = 0.3
"""The proportion of fillers after which the word is repeated."""
SLOTS: Mapping[str, Sequence[str]] = {
    "area": tuple(SPELLINGS["area"]),
    "price": tuple(SPELLINGS["pricerange"]),
    "day": DAYS,
    "number": tuple("12345678"),
}
"""The values that a slip replaces by another value."""
_KEYS = {
    key: (row, column + row / 2)
    for row, keys in enumerate(("qwertyuiop", "asdfghjkl", "zxcvbnm"))
    for column, key in enumerate(keys)
}
_NEIGHBOURS = {
    key: [k for k, (r, c) in _KEYS.items() if k != key and abs(r - row) <= 1 >= abs(c - column)]
    for key, (row, column) in _KEYS.items()
}
_TOKEN = re.compile(r"\w+(?:'\w+)*")
_PUNCTUATION = re.compile(r"(?<!\d)[.,:;?!]|[.,:;?!](?!\d)")
_NUMBER = re.compile(r"(?<![\w.:,'-])(?:10|[1-9])(?![\w:'-]|[.,]\d)")
_VALUE = re.compile(
    rf"\b(?:{'|'.join(food for food in SPELLINGS['food'] if ' ' in food)})\b|"
    + "|".join(rf"(?P<{slot}>\b(?:{'|'.join(SLOTS[slot])})\b)" for slot in ("area", "price", "day"))
    + rf"|(?P<number>{_NUMBER.pattern})",
    re.IGNORECASE,
)


@cache
def _homophones() -> Mapping[str, str]:
    return {a: b for pair in table("homophones.tsv", 2) for a, b in (pair, pair[::-1])}


@lru_cache(maxsize=2**4)
def _pattern(kind: str, pattern: str) -> re.Pattern[str]:
    texts = sorted(keyed_rows("live", "stress", "openers.tsv")[kind], key=len, reverse=True)
    return re.compile(pattern.format("|".join(map(re.escape, texts))), re.IGNORECASE)


def terse(text: str) -> str:
    """Return a text without openers and courtesies."""
    opener = _pattern("opener", r"^(?:{})(?: an?)? (?=\w)")
    short = " ".join(opener.sub("", sentence) for sentence in re.split(r"(?<=[.?!]) ", text))
    short = _pattern("courtesy", r"\b(?:{})\b,?").sub("", short)
    short = " ".join(re.sub(r"[ ,]+(?=[.?!,])", "", short).split()).lstrip(" ,.!")
    return short.removesuffix(".") if short not in ("", text) else text


def typo(word: str, rng: Random) -> str:
    """Return a word with one typing error. The result may be the same word."""
    (kind,) = rng.choices(TYPOS, cum_weights=TYPO_RATES)
    place = rng.randrange(len(word))
    before, letter, after = word[:place], word[place], word[place + 1 :]
    if kind == "neighbour":
        return before + rng.choice(_NEIGHBOURS.get(letter, [letter])) + after
    if kind == "swapped":
        return before + after[:1] + letter + after[1:]
    return before + (letter * 2 if kind == "doubled" else "") + after


def misheard(word: str, rng: Random) -> str:
    """Return a word as speech recognition may write it. The result may be the same word."""
    return _homophones().get(word) or rng.choice(_rewritings(word))


@lru_cache(maxsize=2**12)
def _rewritings(word: str) -> list[str]:
    rewritten = [
        word[:place] + new + word[place + len(old) :]
        for old, new in table("phonetic.tsv", 2)
        if old in word
        for place in range(len(word))
        if word.startswith(old, place)
    ]
    return rewritten or [word]


class Noise:
    """Alters messages about the venues of a database. Its only state is a cache."""

    def __init__(self, tables: Mapping[str, Sequence[Row]], database: DatabaseTools) -> None:
        self._query = database.query
        self._domains: dict[str, list[str]] = {}
        for domain in VENUE_DOMAINS:
            for row in tables[domain]:
                self._domains.setdefault(row["name"].lower(), []).append(domain)
        self._names: dict[str, tuple[str, ...]] = {}
        """Maps a first word to the names that begin with it, the longest first."""
        for name in sorted(self._domains, key=len, reverse=True):
            first = _TOKEN.findall(name)[0]
            self._names[first] = (*self._names.get(first, ()), name)
        cells = [cell for rows in tables.values() for row in rows for cell in row.items()]
        texts = {(column, value) for column, value in cells if isinstance(value, str)}
        values = _words(value for column, value in texts if column != "introduction")
        values |= _words(value for slot in SPELLINGS.values() for value in slot)
        values |= {*LISTS["numbers"], *LISTS["tens"]}
        lines = chain.from_iterable(keyed_rows("live", "wordings.tsv").values())
        self._known = values | _words(lines) | _words(value for _, value in texts)
        self._values: dict[str, list[str]] = {}
        """Maps words from which up to `MOST_EDITS` letters are removed to the complete words."""
        for word in values:
            for shorter in _shortened(word, MOST_EDITS):
                self._values.setdefault(shorter, []).append(word)
        self._is_decodable = lru_cache(maxsize=2**14)(self._can_be_decoded)

    def noised(self, text: str, stress: Stress, turn: int) -> str:
        """Return the message of a turn with noise, at most three times as long plus 80.

        Messages of more than `MOST_CHARACTERS` have no noise.
        """
        if len(text) > MOST_CHARACTERS:
            return text
        noisy = terse(text) if stress.happens("terse") else text
        if stress.happens("repair", turn):
            noisy = self._repaired(noisy, stress.generator("repair", turn))
        noisy = self._altered(noisy, stress, turn)
        if stress.happens("chat", turn):
            rng = stress.generator("chat", turn)
            (talk,) = rng.choice(table("small_talk.txt", 1))
            end = "." if noisy[-1:].isalnum() else ""
            noisy = f"{talk} {noisy}" if rng.random() < 0.5 else f"{noisy}{end} {talk}"
        if stress.happens("lower", turn):
            noisy = _PUNCTUATION.sub("", noisy).lower()
        return noisy if noisy.strip() and len(noisy) <= 3 * len(text) + 80 else text

    def _names_in(self, low: str, words: Iterable[re.Match[str]]) -> list[tuple[int, int, str]]:
        """Return start, end and text of the names in a text in lower case that has these words."""
        found: list[tuple[int, int, str]] = []
        end = 0
        for word in words:
            names = self._names.get(word[0])
            if names and (start := word.start()) >= end and low.startswith(names, start):
                for name in names:
                    after = start + len(name)
                    if low.startswith(name, start) and not low[after : after + 1].isalnum():
                        end = after
                        found.append((start, end, name))
                        break
        return found

    def _repaired(self, text: str, rng: Random) -> str:
        """Return a text in which a wrong value precedes one of its values."""
        low = _lower(text)
        names = self._names_in(low, _TOKEN.finditer(low))
        values = [
            match
            for match in _VALUE.finditer(text)
            if match.lastgroup and not any(start <= match.start() < end for start, end, _ in names)
        ]
        if not values:
            return text
        value = rng.choice(values)
        wrong = [other for other in SLOTS[str(value.lastgroup)] if other != value[0].lower()]
        before, after = text[: value.start()], text[value.start() :]
        return f"{before}{rng.choice(wrong)}, no wait, I mean {after}"

    def _altered(self, text: str, stress: Stress, turn: int) -> str:
        """Return a text with noise in its names, words and numbers."""
        low = _lower(text)
        words = [*_TOKEN.finditer(low)]
        names = self._names_in(low, words)
        edits: dict[tuple[int, int], str] = {}
        for start, end, name in names:
            if stress.happens("names", turn, name):
                altered = self._misnamed(name, stress.generator("names", turn, name))
                if altered:
                    edits[start, end] = altered
        chosen = [
            (place, condition, seed)
            for condition in ("typos", "asr", "fill")
            for place, seed in stress.affected(len(words), condition, turn)
        ]
        for place, condition, seed in sorted(chosen, key=itemgetter(0)):
            start, end = span = words[place].span()
            own = next((own for own in names if own[0] <= start < own[1]), None)
            if span in edits or (own and own[:2] in edits):
                continue
            for altered in self._alterations(text[start:end], condition, seed):
                if own is None or self._finds_same(
                    own[2], _edited(text, {**edits, span: altered}, *own[:2])
                ):
                    edits[span] = altered
                    break
        if stress.conditions["numbers"]:
            for number in _NUMBER.finditer(text):
                is_in_name = any(start <= number.start() < end for start, end, _ in names)
                if not is_in_name and stress.happens("numbers", turn, number[0]):
                    edits[number.span()] = LISTS["numbers"][int(number[0])]
        return _edited(text, edits, 0, len(text))

    def _alterations(self, word: str, condition: str, seed: float) -> Iterator[str]:
        """Yield alterations of a word that can be decoded."""
        low = word.lower()
        if not word.replace("'", "").isalpha():
            return
        if condition == "fill":
            rng = Random(seed)
            (filler,) = rng.choice(table("fillers.txt", 1))
            yield f"{filler} {word} {word}" if rng.random() < REPEATED else f"{filler} {word}"
        elif len(word) >= SHORTEST or (condition == "asr" and low in _homophones()):
            rng = Random(seed)
            for _ in range(ATTEMPTS):
                altered = (typo if condition == "typos" else misheard)(low, rng)
                if self._is_decodable(low, altered):
                    yield altered.capitalize() if word[0].isupper() else altered

    def _misnamed(self, name: str, rng: Random) -> str:
        """Return a name with one or two errors, or with two words joined; "" if none is found."""
        words = name.split(" ")
        places = [n for n, word in enumerate(words) if word.isalpha() and len(word) >= SHORTEST]
        for _ in range(ATTEMPTS):
            pairs = [(word, word) for word in words]
            if len(words) > 1 and rng.random() < JOINED:
                place = rng.randrange(len(words) - 1)
                first, second = words[place : place + 2]
                pairs[place : place + 2] = [(f"{first} {second}", first + second)]
            else:
                for place in rng.choices(places, k=rng.choice((1, 2))) if places else ():
                    right, altered = pairs[place]
                    pairs[place] = right, rng.choice((typo, misheard))(altered, rng)
            changed = [(right, altered) for right, altered in pairs if right != altered]
            altered = " ".join(altered for _, altered in pairs)
            is_decodable = changed and all(self._is_decodable(*pair) for pair in changed)
            if is_decodable and self._finds_same(name, altered):
                return altered
        return ""

    def _can_be_decoded(self, right: str, altered: str) -> bool:
        """Return whether a word is altered, is no other known word, and `right` is the nearest."""
        is_other_word = altered in self._known and _homophones().get(right) != altered
        if altered == right or is_other_word or len(altered) > MOST_LETTERS:
            return False
        edits = Levenshtein.distance(right, altered)
        return edits <= MOST_EDITS and not any(
            value != right and Levenshtein.distance(altered, value) <= edits
            for shorter in _shortened(altered, edits)
            for value in self._values.get(shorter, ())
        )

    def _finds_same(self, name: str, altered: str) -> bool:
        return all(
            self._query(domain, [("name", altered)]) == self._query(domain, [("name", name)])
            for domain in self._domains[name]
        )


def _lower(text: str) -> str:
    """Return a text in lower case; a letter that would become two characters is not changed."""
    low = text.lower()
    if len(low) == len(text):
        return low
    return "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


def _words(texts: Iterable[str]) -> set[str]:
    words = {word for text in texts for word in _TOKEN.findall(text.lower())}
    return {word for word in words if not any(map(str.isdigit, word))}


def _edited(text: str, edits: Mapping[tuple[int, int], str], start: int, end: int) -> str:
    """Return a part of a text in which other texts replace some places."""
    output = ""
    for place, after in sorted(edits):
        if start <= place < end:
            output += text[start:place] + edits[place, after]
            start = after
    return output + text[start:end]


def _shortened(word: str, count: int) -> set[str]:
    """Return a word without up to `count` letters. Two words with so many edits share a result."""
    lengths = range(max(0, len(word) - count), len(word) + 1)
    return {"".join(letters) for length in lengths for letters in combinations(word, length)}


class NoisyUser:
    """A user whose messages have noise. `meant` in a message is the text without noise."""

    def __init__(self, user: User, noise: Noise, stress: Stress) -> None:
        self._user = user
        self._noise = noise
        self._stress = stress
        self._turn = 0

    def __getattr__(self, name: str) -> Any:
        """Return another attribute of the user, such as `report`."""
        return getattr(self._user, name)

    @property
    def is_done(self) -> bool:
        """Whether the user has finished."""
        return self._user.is_done

    def begin(self) -> Utterance | None:
        """Return the user's first message."""
        return self._noised(self._user.begin())

    def answer(self, heard: AgentTurn, /) -> Utterance | None:
        """Return the user's reply to a turn of the agent."""
        return self._noised(self._user.answer(heard))

    def _noised(self, said: Utterance | None) -> Utterance | None:
        if said is None:
            return None
        message = user_message(said) if isinstance(said, str) else said
        text = message["content"]
        noisy = self._noise.noised(text, self._stress, self._turn)
        self._turn += 1
        return said if noisy == text else {**message, "content": noisy, MEANT: text}


def noisy_users(make_user: MakeUser, noise: Noise, conditions: Conditions) -> MakeUser:
    """Return a function that creates a user and adds noise to its messages."""
    return lambda planned, record: NoisyUser(
        make_user(planned, record), noise, Stress(conditions, planned, record)
    )
