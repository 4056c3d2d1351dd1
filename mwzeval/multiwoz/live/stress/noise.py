"""Noise in the messages of users: shorter wordings, slips, typos, fillers, small talk, lower case.

An altered word is kept only if it can be decoded: it is not another known word, the right word is
the nearest of all words of values, and an altered name finds the same venues.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from random import Random
from typing import Any

import Levenshtein

from mwzeval.conversation.agents import MakeUser
from mwzeval.conversation.messages import MEANT, AgentTurn, Utterance, user_message
from mwzeval.conversation.protocols import User
from mwzeval.files.reading import table_rows
from mwzeval.multiwoz.database import Row
from mwzeval.multiwoz.live.cues import keyed_lines
from mwzeval.multiwoz.live.stress.conditions import FOLDER, Conditions, StressDraws
from mwzeval.multiwoz.live.tools import DatabaseTools
from mwzeval.multiwoz.schema import DAYS, VENUE_DOMAINS
from mwzeval.multiwoz.words.vocabulary import LISTS, SPELLINGS

ATTEMPTS = 5
"""The number of alterations of a word or name that are tried; otherwise it stays."""
MOST_EDITS = 2
MOST_LETTERS = 30
"""The number of letters of the longest word that is altered."""
MOST_CHARACTERS = 10_000
"""The number of characters of the longest message with noise."""
SHORTEST = 4
"""The number of letters of the shortest word that is misspelt."""
TYPOS = {"neighbour": 0.35, "omitted": 0.25, "doubled": 0.2, "swapped": 0.2}
JOINED = 1 / 3
"""The share of altered names in which two words are joined."""
REPEATED = 0.3
"""The share of fillers after which the word is repeated."""
SLOTS: Mapping[str, Sequence[str]] = {
    "area": tuple(SPELLINGS["area"]),
    "price": tuple(SPELLINGS["pricerange"]),
    "day": DAYS,
    "number": tuple("12345678"),
}
"""The values that a slip replaces by another one."""
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


@lru_cache(maxsize=16)
def table(name: str) -> tuple[tuple[str, ...], ...]:
    """Return the rows of a table of words."""
    return tuple(map(tuple, table_rows(FOLDER / name, 1 if name.endswith(".txt") else 2)))


@cache
def _homophones() -> Mapping[str, str]:
    return {a: b for pair in table("homophones.tsv") for a, b in (pair, pair[::-1])}


@lru_cache(maxsize=16)
def _left_out(kind: str, pattern: str) -> re.Pattern[str]:
    texts = [re.escape(text) for its_kind, text in table("openers.tsv") if its_kind == kind]
    return re.compile(pattern.format("|".join(sorted(texts, key=len, reverse=True))), re.IGNORECASE)


def terse(text: str) -> str:
    """Return a text without openers and courtesies."""
    opener = _left_out("opener", r"^(?:{})(?: an?)? (?=\w)")
    short = " ".join(opener.sub("", sentence) for sentence in re.split(r"(?<=[.?!]) ", text))
    short = _left_out("courtesy", r"\b(?:{})\b,?").sub("", short)
    short = " ".join(re.sub(r"[ ,]+(?=[.?!,])", "", short).split()).lstrip(" ,.!")
    return short.removesuffix(".") if short not in ("", text) else text


def typo(word: str, rng: Random) -> str:
    """Return a word with one error of typing; it may be the same word."""
    (kind,) = rng.choices(list(TYPOS), list(TYPOS.values()))
    place = rng.randrange(len(word))
    before, letter, after = word[:place], word[place], word[place + 1 :]
    if kind == "neighbour":
        return before + rng.choice(_NEIGHBOURS.get(letter, [letter])) + after
    if kind == "swapped":
        return before + after[:1] + letter + after[1:]
    return before + (letter * 2 if kind == "doubled" else "") + after


def misheard(word: str, rng: Random) -> str:
    """Return a word as speech recognition may write it; it may be the same word."""
    if word in _homophones():
        return _homophones()[word]
    rewritten = [
        word[:place] + new + word[place + len(old) :]
        for old, new in table("phonetic.tsv")
        if old in word
        for place in range(len(word))
        if word.startswith(old, place)
    ]
    return rng.choice(rewritten or [word])


class Noise:
    """Alters messages about the venues of a database; its only state is a cache."""

    def __init__(self, tables: Mapping[str, Sequence[Row]], database: DatabaseTools) -> None:
        self._query = database.query
        self._domains: dict[str, list[str]] = {}
        for domain in VENUE_DOMAINS:
            for row in tables[domain]:
                self._domains.setdefault(row["name"].lower(), []).append(domain)
        self._names: dict[str, list[str]] = {}
        """Maps a first word to the names that begin with it, the longest first."""
        for name in sorted(self._domains, key=len, reverse=True):
            self._names.setdefault(_TOKEN.findall(name)[0], []).append(name)
        cells = {
            (column, value)
            for rows in tables.values()
            for row in rows
            for column, value in row.items()
            if isinstance(value, str)
        }
        values = _words(value for column, value in cells if column != "introduction")
        values |= _words(value for slot in SPELLINGS.values() for value in slot)
        values |= {*LISTS["numbers"], *LISTS["tens"]}
        wordings = _words(line for lines in keyed_lines("wordings.tsv").values() for line in lines)
        self._known = values | wordings | _words(value for _, value in cells)
        self._values: dict[str, list[str]] = {}
        """Maps words without up to `MOST_EDITS` of their letters to these words."""
        for word in values:
            for shorter in _shortened(word, MOST_EDITS):
                self._values.setdefault(shorter, []).append(word)

    def noised(self, text: str, draws: StressDraws, turn: int) -> str:
        """Return the message of a turn with noise, at most three times as long plus 80.

        Messages of more than `MOST_CHARACTERS` have no noise.
        """
        if len(text) > MOST_CHARACTERS:
            return text
        noisy = terse(text) if draws.happens("terse") else text
        if draws.happens("repair", turn):
            noisy = self._repaired(noisy, draws.generator("repair", turn))
        noisy = self._altered(noisy, draws, turn)
        if draws.happens("chat", turn):
            rng = draws.generator("chat", turn)
            (talk,) = rng.choice(table("small_talk.txt"))
            end = "." if noisy[-1:].isalnum() else ""
            noisy = f"{talk} {noisy}" if rng.random() < 0.5 else f"{noisy}{end} {talk}"
        if draws.happens("lower", turn):
            noisy = _PUNCTUATION.sub("", noisy).lower()
        return noisy if noisy.strip() and len(noisy) <= 3 * len(text) + 80 else text

    def _parts(self, text: str) -> list[tuple[str, str]]:
        """Divide a text into pairs of a part and its name; each second part has a name."""
        low = text.lower()
        if len(low) != len(text):  # The lower case of some letters has two characters.
            low = "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
        parts: list[tuple[str, str]] = []
        done = 0
        for token in _TOKEN.finditer(low):
            start = token.start()
            for name in self._names.get(token[0], ()) if start >= done else ():
                after = start + len(name)
                if low.startswith(name, start) and not low[after : after + 1].isalnum():
                    parts += (text[done:start], ""), (text[start:after], name)
                    done = after
                    break
        return [*parts, (text[done:], "")]

    def _repaired(self, text: str, rng: Random) -> str:
        """Return a text in which a wrong value precedes one of its values."""
        parts = [part for part, _ in self._parts(text)]
        values = [
            (place, match)
            for place in range(0, len(parts), 2)
            for match in _VALUE.finditer(parts[place])
            if match.lastgroup
        ]
        if values:
            place, match = rng.choice(values)
            wrong = [v for v in SLOTS[str(match.lastgroup)] if v != match[0].lower()]
            before, after = parts[place][: match.start()], parts[place][match.start() :]
            parts[place] = f"{before}{rng.choice(wrong)}, no wait, I mean {after}"
        return "".join(parts)

    def _altered(self, text: str, draws: StressDraws, turn: int) -> str:
        """Return a text with noise in its names, words and numbers."""
        chosen: dict[int, list[tuple[str, float]]] = {}
        count = len(_TOKEN.findall(text))
        for condition in ("typos", "asr", "fill"):
            if rate := draws.conditions[condition]:
                for place, number in enumerate(draws.numbers(count, condition, turn)):
                    if number < rate:
                        chosen.setdefault(place, []).append((condition, number))

        def in_words(found: re.Match[str]) -> str:
            is_chosen = draws.happens("numbers", turn, found[0])
            return LISTS["numbers"][int(found[0])] if is_chosen else found[0]

        output, place = "", 0
        for part, name in self._parts(text):
            altered = ""
            if name and draws.happens("names", turn, name):
                altered = self._misnamed(name, draws.generator("names", turn, name))
            altered = altered or self._reworded(part, name, place, chosen)
            output += altered if name else _NUMBER.sub(in_words, altered)
            place += len(_TOKEN.findall(part))
        return output

    def _reworded(
        self, part: str, name: str, first: int, chosen: Mapping[int, list[tuple[str, float]]]
    ) -> str:
        """Return a part of a text with noise in its words, which are numbered from `first`."""
        output, done = "", 0
        for place, token in enumerate(_TOKEN.finditer(part), start=first):
            for word in self._alterations(token[0], chosen[place]) if place in chosen else ():
                before = output + part[done : token.start()]
                if not name or self._finds_same(name, before + word + part[token.end() :]):
                    output, done = before + word, token.end()
                    break
        return output + part[done:]

    def _alterations(self, word: str, chosen: Iterable[tuple[str, float]]) -> Iterator[str]:
        """Yield alterations of a word that can be decoded, for conditions and random numbers."""
        low = word.lower()
        for condition, number in chosen if word.replace("'", "").isalpha() else ():
            if condition == "fill":
                rng = Random(number)
                (filler,) = rng.choice(table("fillers.txt"))
                yield f"{filler} {word} {word}" if rng.random() < REPEATED else f"{filler} {word}"
            elif len(word) >= SHORTEST or (condition == "asr" and low in _homophones()):
                rng = Random(number)
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

    def _is_decodable(self, right: str, altered: str) -> bool:
        """Return whether a word is altered, is no other known word, and `right` is the nearest."""
        if altered == right or (altered in self._known and _homophones().get(right) != altered):
            return False
        if len(altered) > MOST_LETTERS:
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


def _words(texts: Iterable[str]) -> set[str]:
    words = {word for text in texts for word in _TOKEN.findall(text.lower())}
    return {word for word in words if not any(map(str.isdigit, word))}


def _shortened(word: str, count: int) -> set[str]:
    """Return a word without up to `count` letters; two words with so many edits share a result."""
    found = {word}
    for _ in range(count):
        found |= {text[:place] + text[place + 1 :] for text in found for place in range(len(text))}
    return found


class NoisyUser:
    """A user whose messages have noise; `meant` in a message is the text without noise."""

    def __init__(self, user: User, noise: Noise, draws: StressDraws) -> None:
        self._user = user
        self._noise = noise
        self._draws = draws
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
        noisy = self._noise.noised(text, self._draws, self._turn)
        self._turn += 1
        return said if noisy == text else {**message, "content": noisy, MEANT: text}


def noisy_users(make_user: MakeUser, noise: Noise, conditions: Conditions) -> MakeUser:
    """Return a function that creates a user and adds noise to its messages."""
    return lambda planned, record: NoisyUser(
        make_user(planned, record), noise, StressDraws.of(conditions, planned)
    )
