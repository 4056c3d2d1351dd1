"""Templates for NLG and NLU: sentences with placeholders, grouped by the keys of turns.

Source: Zhu et al., TACL 2020, section 4.5. Templates are in the public format: four JSON files in a
folder or zip archive. Each side has a file `auto` (sentences for whole turns, mined from a corpus)
and a file `manual` (hand-written sentences for single acts). A file contains an object that maps
keys to lists of sentences. mwzeval includes a small set of its own templates.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from mwzeval.crosswoz.corpus.acts import (
    GENERAL,
    INFORM,
    NO_OFFER,
    NONE,
    REQUEST,
    SELECT,
    SEPARATOR,
    SERVICE_PREFIX,
    Act,
    Acts,
    Key,
    act_key,
    in_turn_order,
    lowered,
    mentions_of,
    parse_key,
    spelled_key,
    turn_key,
    value_of,
)
from mwzeval.crosswoz.corpus.database import TAXI_RECORD, Database
from mwzeval.crosswoz.corpus.dialogues import Dialogue, SystemTurn, UserTurn
from mwzeval.crosswoz.corpus.file_shapes import chinese_data, is_texts
from mwzeval.crosswoz.corpus.names import DOMAINS, HOTEL, NOTHING, SERVICES, VENUE_DOMAINS
from mwzeval.crosswoz.protocols import SYSTEM, USER, Rng, Side
from mwzeval.errors import DataError, InputError
from mwzeval.files.downloads import embedded
from mwzeval.files.reading import data_bytes, read_zip
from mwzeval.files.writing import write_atomically


def mine_templates(dialogues: Iterable[Dialogue]) -> dict[Side, dict[str, list[str]]]:
    """Return the sentences of each side by turn key, for `write_templates(folder, "auto", …)`.

    A sentence is left out if it does not contain all values of the acts. Keys are sorted. Sentences
    have the order and frequency of the corpus, so that a random choice has the same distribution.
    """
    mined: dict[Side, dict[str, list[str]]] = {USER: {}, SYSTEM: {}}
    for dialogue in dialogues:
        for side, of_side in mined.items():
            for turn in turns_of(dialogue, side):
                template, missing = delexicalized(turn.utterance, turn.acts)
                if not missing:
                    of_side.setdefault(spelled_key(turn.acts), []).append(template)
    return {side: dict(sorted(of_side.items())) for side, of_side in mined.items()}


def turns_of(dialogue: Dialogue, side: Side) -> list[UserTurn] | list[SystemTurn]:
    """Return the turns of one side of a dialogue."""
    if side == USER:
        return [exchange.user for exchange in dialogue.exchanges]
    return [exchange.system for exchange in dialogue.exchanges]


def delexicalized(utterance: str, acts: Acts) -> tuple[str, int]:
    """Return an utterance with placeholders for values, and the number of missing values.

    Values are replaced in the order of the acts, so replacing a short value can split a longer
    value.
    """
    missing = 0
    for placeholder, value in mentions_of(acts):
        if value in utterance:
            utterance = utterance.replace(value, placeholder)
        else:
            missing += 1
    return utterance, missing


Mode = Literal["auto", "manual", "auto_manual", "auto_manual_public"]
MODES: tuple[Mode, ...] = ("auto", "manual", "auto_manual", "auto_manual_public")
SUBJECT, ATTRIBUTE = "主体", "属性"
"""Placeholders for the domain and the slot of an act with the value `无` (no such thing)."""
NOTHING_KEY = SEPARATOR.join((INFORM, SUBJECT, ATTRIBUTE, NOTHING))
PLACEHOLDER = re.compile(r"\[([^\[\]]*)\]")
COMMA, FULL_STOP = "，", "。"
_PAUSES = "。，,;； "
_ENDS = "？?！!~～…"
Sentences = Mapping[str, Sequence[str]]
"""A mapping from the key, as written in template files, to sentences."""
Part = tuple[Sequence[str], Sequence[Act]]
"""Possible sentences for a part of a turn, and the acts that fill the placeholders."""


@dataclass(frozen=True, slots=True, eq=False)
class Templates:
    """The sentences of one side by key: for whole turns, and for single acts."""

    auto: Mapping[Key, Sequence[str]]
    manual: Sentences

    @classmethod
    def from_json(cls, auto: Sentences, manual: Sentences) -> Templates:
        """Return templates from the content of public files; equal keys are merged."""
        by_key: dict[Key, list[str]] = {}
        for text, sentences in auto.items():
            by_key.setdefault(parse_key(text), []).extend(sentences)
        return cls(by_key, manual)

    def sentence(self, acts: Acts, rng: Rng, mode: Mode = "auto_manual") -> str | None:
        """Return a sentence for the acts, None if there is no template for them.

        The mode `auto` chooses among the sentences for the key of the whole turn. The mode `manual`
        joins one sentence for each act key. `auto_manual`, the paper's mode, uses `manual` if
        `auto` has no sentence. `auto_manual_public` uses the fallback of the public code, which
        makes a sentence for each act but gives all acts with the same key the value of the first
        such act.
        """
        spoken = lowered(acts)
        if mode != "manual" and (sentences := self.auto.get(turn_key(spoken))):
            return fill(rng.choose(sentences), spoken)
        if mode == "auto":
            return None
        parts = self._one_by_one if mode == "auto_manual_public" else self._together
        return _joined(parts(in_turn_order(spoken)), rng)

    def _together(self, acts: Acts) -> Iterator[Part]:
        """Yield sentences, each for as many acts with the same key as possible."""
        kinds: dict[str, list[Act]] = {}
        for act in acts:
            kinds.setdefault(act_key(act), []).append(act)
        for key, of_kind in kinds.items():
            start = 0
            while start < len(of_kind):
                left = len(of_kind) - start
                size = next((n for n in range(left, 1, -1) if manual_key(key, n) in self.manual), 1)
                told = of_kind[start : start + size]
                yield self._sentences(manual_key(key, size), told[0]), told
                start += size

    def _one_by_one(self, acts: Acts) -> Iterator[Part]:
        """Yield the sentences for each act, with the value of the first act that has its key."""
        for act in acts:
            yield self._sentences(act_key(act), act), acts

    def _sentences(self, key: str, act: Act) -> Sequence[str]:
        sentences = self.manual.get(key, ())
        if not sentences and act.value == NOTHING:
            return self.manual.get(NOTHING_KEY, ())
        return sentences


def manual_key(key: str, times: int) -> str:
    """Return the key of sentences for several acts with the same key: `…+名称1+名称2`."""
    if times == 1:
        return key
    start, _, slot = key.rpartition(SEPARATOR)
    return SEPARATOR.join([start, *(f"{slot}{number}" for number in range(1, times + 1))])


def fill(sentence: str, acts: Iterable[Act]) -> str:
    """Return a sentence with the values of acts in its placeholders.

    The first act with a certain key fills `[key]` and `[key1]`, and the next act with this key
    fills `[key2]`. An act with the value `无` (no such thing) fills `[主体]` (subject) and `[属性]`
    (attribute).
    """
    if "[" not in sentence:
        return sentence
    seen: Counter[str] = Counter()
    for act in acts:
        if act.value == NOTHING:
            sentence = sentence.replace(f"[{SUBJECT}]", act.domain)
            sentence = sentence.replace(f"[{ATTRIBUTE}]", act.slot)
            continue
        key = act_key(act)
        seen[key] += 1
        value = value_of(act)
        if seen[key] == 1:
            sentence = sentence.replace(f"[{key}]", value)
        sentence = sentence.replace(f"[{key}{seen[key]}]", value)
    return sentence


def _joined(parts: Iterable[Part], rng: Rng) -> str | None:
    """Return the concatenation of one sentence for each part, None if a part has none."""
    text = ""
    for sentences, told in parts:
        if not sentences:
            return None
        text += _as_part(fill(rng.choose(sentences), told))
    return text[: -len(COMMA)] + FULL_STOP if text.endswith(COMMA) else text or None


def _as_part(sentence: str) -> str:
    """Return a sentence with a comma at the end, unless the sentence asks or exclaims."""
    part = sentence.rstrip(_PAUSES)
    return part if not part or part[-1] in _ENDS else part + COMMA


SIDES: tuple[Side, ...] = (USER, SYSTEM)
KINDS = ("auto", "manual")
FILE = "{kind}_{side}_template_nlg.json"


@dataclass(frozen=True, slots=True, eq=False)
class TemplateNlg:
    """Generates text for acts with the templates of both sides."""

    sides: Mapping[Side, Templates]
    mode: Mode = "auto_manual"

    def say(self, acts: Acts, side: Side, rng: Rng) -> str | None:
        """Return a text for the acts, None if there is no template for them."""
        return self.sides[side].sentence(acts, rng, self.mode)


def load_templates(path: str | Path | None = None) -> dict[Side, Templates]:
    """Return the templates in a folder or zip archive (None: mwzeval's own templates).

    A missing file counts as an empty file, but the files of each side must contain at least one
    sentence. Raises `DataError`.
    """
    place = embedded("crosswoz", "templates") if path is None else Path(path)
    read = _read(place)
    templates = {}
    for side in SIDES:
        auto, manual = (read.get(FILE.format(kind=kind, side=side), {}) for kind in KINDS)
        if not auto and not manual:
            names = " or ".join(FILE.format(kind=kind, side=side) for kind in KINDS)
            raise DataError(f"{place}: no templates of the {side}: expected {names}")
        templates[side] = Templates.from_json(auto, manual)
    return templates


def write_templates(folder: str | Path, kind: str, sides: Mapping[Side, Sentences]) -> list[Path]:
    """Write templates of a kind (`auto`, `manual`) in the public format; return the file paths.

    Raises `MwzevalError` if the template files cannot be written to the folder.
    """
    places = []
    Path(folder).mkdir(parents=True, exist_ok=True)
    for side, sentences in sides.items():
        place = Path(folder, FILE.format(kind=kind, side=side))
        text = json.dumps(sentences, ensure_ascii=False, indent=1)
        write_atomically(place, f"{text}\n".encode())
        places.append(place)
    return places


def _read(place: Path) -> dict[str, Sentences]:
    """Return the sentences in each file of a folder or zip archive."""
    names = [FILE.format(kind=kind, side=side) for kind in KINDS for side in SIDES]
    if place.is_file():
        try:
            members = read_zip(place, names)
        except InputError as error:
            raise DataError(f"{error}: expected a folder or a zip archive of templates") from None
    else:
        members = {n: data_bytes(place / n) for n in names if (place / n).is_file()}
    return {name: _parsed(raw, place / name) for name, raw in members.items()}


def _parsed(raw: bytes, place: Path) -> Sentences:
    plain: Any = chinese_data(raw, place)
    if not isinstance(plain, dict) or not all(
        sentences and is_texts(sentences) for sentences in plain.values()
    ):
        raise DataError(f"{place}: expected an object: key → list of sentences")
    return plain


REMEMBERED = 2**14
PART = re.compile("[^，。？！?!~～…]+[，。？！?!~～…]*")
MARK = re.compile("[，。？！]")
ENDINGS = "。，,.？?！!；;~～… "
LONGEST = 4
"""The maximum number of consecutive parts of an utterance, separated by punctuation, that one
template may match."""
Reading = tuple[Act, ...]
Readings = tuple[Reading, ...]


class _Pattern(NamedTuple):
    """A template as a pattern: its regular expression, its key, and the positions of its values."""

    regex: re.Pattern[str]
    literal: int
    key: tuple[str, ...]
    places: tuple[str, ...]


class TemplateReader:
    """An NLU that matches utterances with the manual templates of both sides.

    The template reader allows text-level simulations without a trained NLU. The template reader
    mostly understands only utterances that consist of its templates, with a sentence for each act
    key and punctuation between sentences. Values in templates are in lower case; the acts have the
    spelling of the `database`.
    """

    def __init__(self, user: Sentences, system: Sentences, database: Database) -> None:
        self._patterns = {USER: _indexed(user), SYSTEM: _indexed(system)}
        self._spellings = spellings(database)
        self._readings = lru_cache(REMEMBERED)(self._read)

    def understand(self, utterance: str, context: Sequence[str], side: Side) -> Acts:
        """Return the acts of an utterance.

        If a sentence matches templates of several domains, the most frequent domain of the other
        sentences in the utterance is chosen or, if there is none, the domain of the context. Parts
        that match no template are ignored.
        """
        readings = list(self._parts(utterance, side))
        sure = [act.domain for reading in readings if len(reading) == 1 for act in reading[0]]
        counts = Counter(domain for domain in sure if domain in DOMAINS)
        domain = counts.most_common(1)[0][0] if counts else None
        if domain is None and any(len(reading) > 1 for reading in readings):
            domain = self._spoken_of(context)
        acts = [act for reading in readings for act in _chosen(reading, domain)]
        return tuple(dict.fromkeys(acts))

    def _spoken_of(self, context: Sequence[str]) -> str | None:
        """Return the domain of the latest previous utterance that has a domain."""
        for utterance in reversed(context):
            for side in self._patterns:
                for reading in self._parts(utterance, side):
                    if len(reading) == 1 and reading[0] and reading[0][0].domain in DOMAINS:
                        return reading[0][0].domain
        return None

    def _parts(self, utterance: str, side: Side) -> Sequence[Readings]:
        """Return the possible readings of each part of an utterance that matches a template.

        Commas and other punctuation occur between sentences and inside them. The utterance is
        divided so that the matched templates have the most literal text.
        """
        parts = PART.findall(utterance.rstrip(ENDINGS))
        best: list[tuple[int, tuple[Readings, ...]]] = [(0, ())]
        for end in range(1, len(parts) + 1):
            chosen = best[end - 1]
            for start in range(max(0, end - LONGEST), end):
                spelled, readings = self._readings("".join(parts[start:end]), side)
                score, before = best[start]
                if readings and score + spelled > chosen[0]:
                    chosen = (score + spelled, (*before, readings))
            best.append(chosen)
        return best[-1][1]

    def _read(self, part: str, side: Side) -> tuple[int, Readings]:
        """Return the number of literal characters of the best templates, and their readings."""
        text = part.strip(ENDINGS)
        if not text:
            return 0, ()
        index = self._patterns[side]
        most = 0
        found: list[Reading] = []
        for ends in ((text[0], text[-1]), (text[0], ""), ("", text[-1]), ("", "")):
            for pattern in index.get(ends, ()):
                if pattern.literal < most:
                    continue
                match = pattern.regex.fullmatch(text)
                # Values hardly ever contain punctuation, so such a match is probably wrong.
                if match is None or any(MARK.search(value) for value in match.groups()):
                    continue
                if pattern.literal > most:
                    most, found = pattern.literal, []
                values = [self._spellings.get(value, value) for value in match.groups()]
                found.append(_acts(pattern, values))
        return most, tuple(dict.fromkeys(found))


def _chosen(readings: Sequence[Reading], domain: str | None) -> Reading:
    for reading in readings:
        if any(act.domain == domain for act in reading):
            return reading
    if len(readings[0]) == 1 and readings[0][0].domain == SUBJECT:
        return tuple(act._replace(domain=domain) for act in readings[0]) if domain else ()
    return readings[0]


def _indexed(sentences: Sentences) -> dict[tuple[str, str], list[_Pattern]]:
    """Return patterns by their first and last characters ("" if there is a value)."""
    index: dict[tuple[str, str], list[_Pattern]] = {}
    for key, of_key in sentences.items():
        for sentence in dict.fromkeys(of_key):
            text = sentence.strip(ENDINGS)
            if not text:
                continue
            pieces = PLACEHOLDER.split(text)
            literals, places = pieces[::2], tuple(pieces[1::2])
            if not any(literals):
                continue  # matches any text
            regex = re.compile("(.+?)".join(map(re.escape, literals)), re.DOTALL)
            pattern = _Pattern(regex, sum(map(len, literals)), tuple(key.split(SEPARATOR)), places)
            index.setdefault((literals[0][:1], literals[-1][-1:]), []).append(pattern)
    return index


def _acts(pattern: _Pattern, values: Sequence[str]) -> Reading:
    """Return the acts of a template with these values."""
    intent, domain, slot, *more = pattern.key
    if intent == GENERAL:
        return (Act(GENERAL, domain, NONE, NONE),)
    if intent == NO_OFFER:
        return (Act(NO_OFFER, domain, NONE, NONE),)
    if intent == SELECT:
        return (Act(SELECT, domain, slot, more[0]),)
    if domain == SUBJECT:
        named = dict(zip(pattern.places, values, strict=True))
        return (Act(INFORM, named.get(SUBJECT, SUBJECT), named.get(ATTRIBUTE, ""), NOTHING),)
    if intent == REQUEST:
        services = [Act(REQUEST, HOTEL, SERVICE_PREFIX + value, "") for value in values]
        return tuple(services) if slot == SERVICES else (Act(REQUEST, domain, slot, ""),)
    if slot.startswith(SERVICES) and more:
        answer = more[-1]
        return tuple(Act(INFORM, HOTEL, SERVICE_PREFIX + value, answer) for value in values)
    told = values or more
    # `名称1+名称2` is the same slot twice.
    return tuple(Act(intent, domain, slot.rstrip("0123456789"), value) for value in told)


def spellings(database: Database) -> dict[str, str]:
    """Return a mapping from lower-case text to a different spelling in the database."""
    records = [e.record for domain in VENUE_DOMAINS for e in database.entities(domain)]
    return {
        text.lower(): text
        for record in (*records, TAXI_RECORD)
        for text in _texts(record.values())
        if text.lower() != text
    }


def _texts(values: Iterable[object]) -> Iterator[str]:
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, list | tuple):
            yield from (item for item in value if isinstance(item, str))
