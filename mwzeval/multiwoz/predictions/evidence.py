"""Evidence of mistakes that leave a file well formed, such as states that are shifted by one turn.

No single turn shows such a mistake, but counts over many dialogues do. A sample of the dialogues is
compared with the gold annotation: those whose ids have the smallest checksums, so that the sample
is the same in whatever parts the input comes. Each threshold is far from what published systems
and gold data reach (tests/multiwoz/predictions/test_evidence.py prints the shares).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from heapq import nsmallest
from itertools import pairwise
from typing import NamedTuple
from zlib import crc32

from mwzeval.errors import Problem, shorten
from mwzeval.multiwoz.annotations import GoldDialogue
from mwzeval.multiwoz.choices import Rules
from mwzeval.multiwoz.corpus import GoldFold
from mwzeval.multiwoz.normalization import State, normalize_states
from mwzeval.multiwoz.placeholders import canonical_response, known_placeholders
from mwzeval.multiwoz.predictions.reading import UNFILLED, Dialogues, Findings, Turn, bare
from mwzeval.multiwoz.schema import FLAG_SLOTS, NAME_SLOTS, NO_CONSTRAINT, TIME_SLOTS
from mwzeval.multiwoz.words.numbers import has_identifier

SAMPLED = 50
"""Dialogues that are compared with gold data; they take a few milliseconds."""
FEWEST = 50
"""A share of fewer cases is taken as one of so many, because few cases prove little."""
FEWEST_DIALOGUES = 10
"""Below so many only the form of responses and values is judged."""

IDENTIFIERS = frozenset({"PHONE", "POST", "TRAINID", "REFERENCE"})
"""The (canonical) placeholders of what can be told by its form alone where it stands in words."""

Key = tuple[str | int, ...]
"""What is counted: a kind, and perhaps a detail of it."""


@dataclass(slots=True)
class Tally:
    """The counts of one dialogue, and the first turn of each key (as the user counts turns)."""

    counts: Counter[Key] = field(default_factory=Counter)
    turns: dict[Key, int] = field(default_factory=dict)

    def add(self, turn: int, *key: str | int) -> None:
        """Count a case that a turn shows."""
        self.counts[key] += 1
        self.turns.setdefault(key, turn)


@dataclass(slots=True)
class Evidence:
    """The tallies of the sampled dialogues by id; those of parts can be merged."""

    tallies: dict[str, Tally] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        dialogues: Dialogues,
        gold: GoldFold,
        rules: Rules,
        positions: Mapping[str, Sequence[int]],
    ) -> Evidence:
        """Compare a sample of dialogues of a fold with their annotation.

        `positions` are where the user wrote the turns, as in `Findings`.
        """
        names = list(gold.dialogues)
        others = dict(zip(names, [*names[1:], *names[:1]], strict=True))
        evidence = cls()
        for name in _sampled(dialogues):
            annotated = gold.dialogues.get(gold.name_of(name))
            if annotated is None:
                continue
            tally = evidence.tallies[name] = Tally()
            # More turns than annotated are an error of their own.
            turns = dialogues[name][: len(annotated.states)]
            _compare_responses(turns, annotated, gold.dialogues[others[gold.name_of(name)]], tally)
            if all(turn.state is not None for turn in turns):
                _compare_states(turns, annotated, rules, tally)
            if all(turn.active_domains is not None for turn in turns):
                _count_domains(turns, annotated, tally)
            if positions:
                tally.turns = {key: positions[name][turn] for key, turn in tally.turns.items()}
        return evidence

    def merge(self, later: Evidence) -> None:
        """Add another part of the input; only the sample of both parts is kept."""
        tallies = {**self.tallies, **later.tallies}
        self.tallies = {name: tallies[name] for name in _sampled(tallies)}


def _sampled(names: Mapping[str, object]) -> list[str]:
    return nsmallest(
        SAMPLED, names, key=lambda name: (crc32(name.encode("utf-8", "replace")), name)
    )


WORD = re.compile(r"[a-z]{4,}|[A-Z]{2,}")
"""Placeholders, in capitals, and longer words: short words are in all responses."""
MARKS = re.compile(r"[<`&\\*▁ĠĊ:>{(]|@@|##")
MARKUP = re.compile(
    r"(?P<tokens><[|/]?[A-Za-z_]{1,20}\|?>|\[/?(?:INST|PAD|CLS|SEP|EOS|BOS|MASK)\]|_EOS_$)"
    r"|(?P<fence>```)"
    r"|(?P<object>^\{.*\}$|\{\s*['\"]\w+['\"]\s*:)"
    r"|(?P<list>^(?:\w+\()?[\[({]*\s*['\"].*['\"]\s*,?\s*(?:[\])}][^'\"]*|,)$)"
    r"|(?P<bytes>^b(?:'.*'|\".*\")$)"
    r"|(?P<quotes>^(?:\".*\"|“.*”|'.*')$)"
    r"|(?P<bold>^\*\*.*\*\*$)"
    r"|(?P<label>(?:^|\n)\W*(?:system|assistant|agent|bot|user|human|thought|response|answer|output"
    r"|sys)\W{0,3}[:>])"
    r"|(?P<bare>(?<![\[\w])(?:value|restaurant|hotel|attraction|train|taxi|hospital)_[a-z]{2,})"
    r"|(?P<escapes>&(?:[a-z]{2,6}|#\d+);|\\[nrtu]|[▁ĠĊ]|@@|##[a-z])",
    re.IGNORECASE | re.DOTALL,
)
MARKDOWN = re.compile(
    r"^(?:#{1,6}|[-*•>|]|\d{1,2}[.)])\s|^(?:\*.*\*|_.*_|`.*`)$|\*\*[^*]+\*\*", re.DOTALL
)
"""What responses in words may have, which are read with their layout; templates have none."""
BEGINNING = 24
"""Responses are told apart by so many characters and their length."""
SENTENCE_ENDS = frozenset(".?!)]\"'}>`*")


def _compare_responses(
    turns: Sequence[Turn], gold: GoldDialogue, other: GoldDialogue, tally: Tally
) -> None:
    """Count how well responses fit their own and other references, and what is odd about them."""
    counts, last, before = tally.counts, len(turns) - 1, ""
    responses = [(turn.response or "").strip() for turn in turns]
    in_words = not any(map(known_placeholders, responses))
    references, elsewhere = (
        _words(dialogue.system_utterances if in_words else dialogue.references, in_words)
        for dialogue in (gold, other)
    )
    for index, response in enumerate(responses):
        counts["responses",] += 1
        if not response:
            tally.add(index, "empty")
            continue
        words = frozenset(WORD.findall(canonical_response(response)))
        fit = _overlap(words, references[index])
        counts["own",] += fit
        elsewhere_fit = _overlap(words, elsewhere[min(index, len(elsewhere) - 1)])
        counts["other",] += elsewhere_fit
        if elsewhere_fit > fit:
            tally.add(index, "nearer to another dialogue")
        for step in (1, -1):
            if 0 <= index - step <= last:
                neighbour = _overlap(words, references[index - step])
                counts["own", step] += fit
                counts["neighbour", step] += neighbour
                if neighbour > fit:
                    tally.add(index, "nearer to a neighbour", step)
        if not fit:
            tally.add(index, "no fit", response[:BEGINNING])
        if known := known_placeholders(response):
            counts["identifiers",] += not known.isdisjoint(IDENTIFIERS)
        elif not in_words and has_identifier(response):
            counts["identifiers",] += 1
            tally.add(index, "in words")
        _look_at(response, index, tally)
        if not in_words and MARKDOWN.search(response):
            tally.add(index, "markup", "bold")
        user = gold.user_utterances[index][:30].lower()
        if (len(user) == 30 and user in response.lower()) or (
            len(before) >= 20 and len(response) > len(before) and response.startswith(before)
        ):
            tally.add(index, "history")
        before = response
    if last >= 2:
        counts["long",] += 1
        if responses[0] and len(set(responses)) == 1:
            tally.add(1, "alike")


@lru_cache(maxsize=2**12)
def _words(texts: tuple[str, ...], in_words: bool) -> tuple[frozenset[str], ...]:
    lower = [text.lower() for text in texts] if in_words else texts
    return tuple([frozenset(WORD.findall(text)) for text in lower])


def _overlap(words: frozenset[str], others: frozenset[str]) -> int:
    """Return half of Dice's coefficient per mille: sums of whole numbers do not depend on order."""
    return 1000 * len(words & others) // (len(words) + len(others) or 1)


def _look_at(text: str, index: int, tally: Tally) -> None:
    """Count what is odd about a response, whatever it says."""
    opened, start, end = text.count("["), text[0], text[-1]
    # Whatever `MARKUP` finds has one of these, which are faster to look for.
    odd = (
        not start.isalnum()
        or end in "]_'\""
        or text.count("_") > opened
        or MARKS.search(text)
        or "/INST" in text
    )
    if odd and (found := MARKUP.search(text)):
        tally.add(index, "markup", str(found.lastgroup))
    words = text.split()
    pieces, text = len(words), " ".join(words)
    if pieces == 1 and len(text) >= 25:
        tally.add(index, "markup", "spaces")
    if pieces >= 3 and (
        text in (text + text)[1:-1]
        or text in f"{text} {text}"[1:-1]
        or (pieces >= 4 and words[::2] == words[1::2])
    ):
        tally.add(index, "doubled")
    if opened != text.count("]"):
        tally.add(index, "bracket")
    tally.counts["length", text[:BEGINNING], len(text), pieces] += 1
    if end not in SENTENCE_ENDS:
        tally.add(index, "no end")


def _count_domains(turns: Sequence[Turn], gold: GoldDialogue, tally: Tally) -> None:
    """Count the turns in which many domains or none are active, and domains that never change."""
    for index, turn in enumerate(turns):
        tally.counts["turns",] += 1
        if not turn.active_domains:
            tally.add(index, "inactive")
        elif len(turn.active_domains) >= 3:
            tally.add(index, "all active")
    if len(gold.goal) >= 2 and len(turns) >= 4:
        tally.counts["of several domains",] += 1
        if len({frozenset(turn.active_domains or ()) for turn in turns}) == 1:
            tally.add(0, "same domains")


Pair = tuple[tuple[str, str], str]
"""Domain and slot, and the value."""
VALUE_SHAPES = re.compile(
    r"(?P<quotes>^b?(?:'.*'|\".*\"|“.*”|‘.*’|`.*`)$)"
    r"|(?P<brackets>^[\[({].*[\])}]$)"
    r"|(?P<tokens><[|/]?[A-Za-z_]{1,20}\|?>)"
    r"|(?P<joints>[a-z0-9](?:_|%20|\+)[a-z0-9])"
    r"|(?P<width>[！-～]|(?![0-9])\d)"
    r"|(?P<punctuation>[.,;:=]$)"
    r"|(?P<slot>^[a-z ]+=)",
    re.IGNORECASE,
)
NAMES = {
    "tokens": "special tokens of a model",
    "fence": "a Markdown fence",
    "object": "a printed object around them",
    "list": "a printed list around them",
    "bytes": "printed bytes around them",
    "quotes": "quotation marks around them",
    "bold": "Markdown around them",
    "label": "a label before them",
    "escapes": "escaped characters, or marks of word pieces",
    "bare": "placeholders without square brackets",
    "spaces": "no spaces",
    "brackets": "brackets around them",
    "joints": '"_", "+" or "%20" in place of spaces',
    "width": "full-width characters, or digits other than 0 to 9",
    "punctuation": "punctuation behind them",
    "slot": "the name of a slot before them",
}
"""What `MARKUP` and `VALUE_SHAPES` find."""
NUMBERS = frozenset({"stars", "people", "stay"})
TIME = re.compile(r"(\d{1,2}):(\d\d)")


def _compare_states(turns: Sequence[Turn], gold: GoldDialogue, rules: Rules, tally: Tally) -> None:
    """Count when and where predicted values are annotated, and what is odd about them."""
    counts = tally.counts
    states = _pairs(normalize_states((turn.state or {} for turn in turns), rules))
    annotated = _pairs(normalize_states(gold.states, rules))[: len(turns)]
    first, first_annotated = _first(states), _first(annotated)
    values: dict[tuple[str, str], set[str]] = {}
    for slot, value in first_annotated:
        values.setdefault(slot, set()).add(value)
        counts["annotated", slot[1], value] += 1
    elsewhere = {value for _, value in first_annotated}
    for (slot, value), turn in first.items():
        counts["values",] += 1
        counts["predicted", slot[1], value] += 1
        tally.turns.setdefault(("predicted", slot[1], value), turn)
        # A part of an annotated value is rather a mistake than a copy.
        said = gold.user_utterances[: turn + 1]
        if not any(value in other for other in elsewhere) and any(
            value in text.lower() for text in said
        ):
            counts["copied", slot[1], value] += 1
        if value in values.get(slot, ()):
            counts["right",] += 1
            if begins := first_annotated[slot, value]:
                counts["placed",] += 1
                if turn != begins:
                    tally.add(turn, "moved", turn - begins)
        elif shape := VALUE_SHAPES.search(value):
            tally.add(turn, "shape", str(shape.lastgroup))
        elif value in elsewhere:
            tally.add(turn, "misplaced")
        if slot[1] in TIME_SLOTS:
            _compare_times(value, values.get(slot, ()), turn, tally)
    if len(first) >= 3:
        counts["filled",] += 1
        if not any(pair in first_annotated for pair in first):
            tally.add(min(first.values()), "none right")
    for index, (before, state) in enumerate(pairwise(states), 1):
        counts["slots",] += len(before)
        if gone := len(before.keys() - state.keys()):
            tally.add(index, "vanished")
            counts["vanished",] += gone - 1
    if states[-1].keys() < states[0].keys() or (any(states) and not states[-1]):
        tally.add(len(states) - 1, "emptied")
    if annotated[0] != annotated[-1]:
        counts["changing",] += 1
        if states[0] and all(state == states[0] for state in states):
            tally.add(0, "constant")


def _pairs(states: Iterable[State]) -> list[dict[tuple[str, str], str]]:
    """Return the values of states by domain and slot; equal neighbours are one object."""
    result: list[dict[tuple[str, str], str]] = []
    before: State | None = None
    for state in states:
        if state is before:
            result.append(result[-1])
            continue
        before = state
        result.append(
            {
                (domain, slot.removeprefix("book")): value
                for domain, slots in state.items()
                for slot, value in slots.items()
            }
        )
    return result


def _first(states: Sequence[Mapping[tuple[str, str], str]]) -> dict[Pair, int]:
    """Return the turn in which each pair of a slot and a value is there for the first time."""
    first: dict[Pair, int] = {}
    before: object = None
    for index, state in enumerate(states):
        if state is not before:
            for pair in state.items():
                first.setdefault(pair, index)
        before = state
    return first


def _compare_times(value: str, annotated: Iterable[str], turn: int, tally: Tally) -> None:
    time = TIME.fullmatch(value)
    others = [other for other in map(TIME.fullmatch, annotated) if other]
    if time and others:
        tally.counts["times",] += 1
        apart = {(int(time[1]) - int(other[1])) % 24 for other in others if other[2] == time[2]}
        if apart and 0 not in apart:
            tally.add(turn, "hours", min(apart))


class Rule(NamedTuple):
    """A warning, given for a sign that more than a share `limit` of its cases shows."""

    sign: str
    cases: str
    limit: float
    warning: str
    message: str


OF_TEXTS = (
    Rule("empty", "responses", 0.1, "empty-responses", "the response is empty"),
    Rule("doubled", "responses", 0.2, "repeated-text", "the response has the same text twice"),
    Rule(
        *("history", "responses", 0.3, "history-in-response"),
        "the response begins with the response before, or has the user's utterance: write only "
        "what the system says in the turn",
    ),
    Rule(
        *("bracket", "responses", 0.04, "cut-responses"),
        "the response has one bracket of a placeholder without the other: it is cut",
    ),
    Rule(
        *("markup", "responses", 0.1, "markup"),
        "responses have {}: write only what the user is to read",
    ),
    Rule("shape", "values", 0.05, "odd-values", "values of states have {}: write them without"),
)
"""Rules for an input of any size; the names of what was found replace the braces."""
OF_VALUES = (
    Rule(
        *("misplaced", "values", 0.12, "misplaced-values"),
        "the value of a slot is annotated for another slot or domain: are slots mixed up?",
    ),
    Rule(
        *("none right", "filled", 0.15, "other-dialogues"),
        "no value of the states is annotated for the dialogue: are the dialogues under the ids of "
        "others?",
    ),
)
OF_TURNS = (
    Rule(
        *("constant", "changing", 0.5, "same-state"),
        "the state is the same in all turns of a dialogue",
    ),
    Rule(
        *("emptied", "changing", 0.25, "vanished-slots"),
        "the last state of a dialogue has lost what the states before had",
    ),
    Rule(
        *("vanished", "slots", 0.15, "vanished-slots"),
        "slots vanish from the next state: a state has all slots so far, not only changes",
    ),
    Rule("all active", "turns", 0.3, "same-domains", "three or more domains are active in a turn"),
    Rule("inactive", "turns", 0.75, "no-active-domains", "no domain is active in a turn"),
    Rule(
        *("same domains", "of several domains", 0.5, "same-domains"),
        "the same domains are active in all turns of a dialogue about several",
    ),
)
FIT, NEIGHBOUR, ALIKE, UNFIT, IN_WORDS = 1.3, 0.85, 0.3, 0.1, 0.05
"""Responses fit their own references so many times better than others'; the neighbours' references
so much of that. Shares: dialogues of one response, a response that never fits, words for
placeholders."""
ODD_VALUES = {"odd-values", "blanks-around-value", "upper-case-value", "invisible-characters"}
"""Warnings about values that say why they are not annotated."""
MOVED, HOURS, UNKNOWN, UNKNOWN_NAMES = 0.35, 0.2, 0.25, 0.8
"""Shares: values in other turns, times that are equally far off, values that are not annotated."""


def check_evidence(
    evidence: Evidence, findings: Findings, *, responses: bool, informative: bool
) -> None:
    """Warn about mistakes that the sampled dialogues show.

    `responses` tells whether responses are scored, and `informative` whether they differ enough to
    be compared with references.
    """
    total: Counter[Key] = Counter()
    for tally in evidence.tallies.values():
        total.update(tally.counts)
    check = _Check(evidence, findings, total)
    check.apply(rule for rule in OF_TEXTS if responses or rule.cases != "responses")
    if responses:
        _check_lengths(check)
    if len(evidence.tallies) >= FEWEST_DIALOGUES:
        if responses and informative:
            _check_fit(check)
        if check.found.isdisjoint(ODD_VALUES):
            _check_values(check)
        check.apply(OF_TURNS)
        if "same-state" not in check.found:
            _check_moves(check)


@dataclass(frozen=True, slots=True)
class _Check:
    """The evidence of all sampled dialogues, and the findings that warnings go to."""

    evidence: Evidence
    findings: Findings
    total: Counter[Key]

    @property
    def found(self) -> set[str]:
        """The kinds of all warnings so far."""
        return {problem.kind for problem in self.findings.warnings}

    def details(self, sign: str) -> Counter[Key]:
        """Return the counts of all keys of a sign."""
        return Counter({key: times for key, times in self.total.items() if key[0] == sign})

    def exceeds(self, limit: float, sign: str, cases: str) -> bool:
        """Tell whether more than a share of the cases shows a sign."""
        return self.details(sign).total() > limit * max(self.total[cases,], FEWEST)

    def apply(self, rules: Iterable[Rule]) -> None:
        """Give the warnings of rules, one of each kind."""
        given: set[str] = set()
        for sign, cases, limit, warning, message in rules:
            if warning not in given and self.exceeds(limit, sign, cases):
                given.add(warning)
                keys = self.details(sign)
                names = [NAMES[str(key[1])] for key, _ in keys.most_common() if len(key) > 1]
                self.warn(warning, message.format(", ".join(names)), *keys)

    def warn(self, warning: str, message: str, *keys: Key) -> None:
        """Report how often and in how many dialogues these keys were counted, and where first."""
        tallies = sorted(self.evidence.tallies.items())
        places = [
            (name, min(tally.turns[key] for key in keys if key in tally.turns))
            for name, tally in tallies
            if not tally.turns.keys().isdisjoint(keys)
        ]
        for name, turn in places[:1]:
            message += f" (in {len(places)} of {len(tallies)} dialogues of a sample)"
            count = sum(self.total[key] for key in keys)
            self.findings.extend(
                [Problem(warning, message, "warning", self.findings.file, name, turn, count=count)]
            )


def _check_lengths(check: _Check) -> None:
    """Warn when many responses end within a sentence at the greatest length."""
    lengths = list(check.details("length"))
    if len(lengths) < FEWEST or not check.exceeds(0.25, "no end", "responses"):
        return
    for unit, place, slack in (("characters", 2, 1), ("words", 3, 0)):
        of_all = [int(key[place]) for key in lengths]
        longest = max(of_all)
        if sum(length >= longest - slack for length in of_all) > 0.1 * len(of_all):
            check.warn(
                "cut-responses",
                f"the response ends within a sentence, and many have {longest} {unit}, none more: "
                "they are cut",
                ("no end",),
            )
            return


def _check_fit(check: _Check) -> None:
    """Warn when responses fit other references than their own, or differ in form from others."""
    total = check.total
    if total["in words",] > IN_WORDS * max(2 * FEWEST, total["identifiers",]):
        check.warn(
            "lexicalized-turns",
            "a phone number, postcode, train id or reference in words, while other responses of "
            "the dialogue have placeholders: write all responses in one form",
            ("in words",),
        )
    step = max((1, -1), key=lambda step: total["neighbour", step] / (total["own", step] or 1))
    neighbour, own = total["neighbour", step], total["own", step]
    if check.exceeds(ALIKE, "alike", "long"):
        check.warn("same-response", "all responses of a dialogue are the same", ("alike",))
    elif total["responses",] < FEWEST:
        return
    elif total["own",] < FIT * total["other",] and neighbour < 1.5 * own:
        check.warn(
            "other-dialogues",
            "the response fits the reference of another dialogue better than its own: are the "
            "responses under the ids of other dialogues, or in another order?",
            ("nearer to another dialogue",),
        )
    elif neighbour > NEIGHBOUR * own:
        check.warn(
            "shifted-responses",
            f"the response fits the reference of the turn {'before' if step > 0 else 'after'} "
            "better than its own: is each response in its own turn?",
            ("nearer to a neighbour", step),
        )
    else:
        often: Counter[str | int] = Counter()
        for key, times in check.details("length").items():
            often[key[1]] += times
        for key, times in check.details("no fit").most_common(1):
            if times == often[key[1]] > UNFIT * total["responses",]:
                check.warn("same-response", "one response comes often and fits no reference", key)


def _check_values(check: _Check) -> None:
    """Warn about values that hardly any annotated state has, or that stand at other slots."""
    known = {key[1:] for key in check.details("annotated")}
    predicted: dict[str, Counter[Key]] = {}
    for key, times in check.details("predicted").items():
        slot = "parking, internet" if key[1] in FLAG_SLOTS else str(key[1])
        predicted.setdefault(slot, Counter())[key] = times
    for slot, values in predicted.items():
        # What the user said is a poor state rather than a mistake of the file.
        unknown = +Counter(
            {
                key: times - check.total["copied", key[1], key[2]]
                for key, times in values.items()
                if not _is_known(key, known)
            }
        )
        limit = UNKNOWN_NAMES if slot in NAME_SLOTS | {"food"} else UNKNOWN
        if unknown.total() > limit * max(FEWEST // 2, values.total()):
            (key, _), *_ = unknown.most_common(1)
            message = f'values of the slot "{slot}" that no annotated state has, such as '
            check.warn("unknown-values", f'{message}"{shorten(str(key[2]))}"', *unknown)
            return
    check.apply(OF_VALUES)
    for key, times in check.details("hours").most_common(1):
        if times > HOURS * max(FEWEST, check.total["times",]):
            message = f"times are {key[1]} hours later than annotated (modulo 24)"
            check.warn("shifted-times", message, key)


def _is_known(key: Key, known: Collection[Key]) -> bool:
    _, slot, value = map(str, key)
    return (
        (slot, value) in known
        or value in NO_CONSTRAINT
        or bare(value) in UNFILLED
        or (slot in NUMBERS and value.isdigit())
        or (slot in TIME_SLOTS and TIME.match(value) is not None)
    )


def _check_moves(check: _Check) -> None:
    """Warn when values come in other turns than annotated."""
    if check.exceeds(MOVED, "moved", "placed") and check.exceeds(0.25, "right", "values"):
        moved = check.details("moved")
        ((_, step), _), *_ = moved.most_common(1)
        turns = abs(int(step))
        check.warn(
            "shifted-states",
            "a value is not in the states from the turn on that it is annotated in, most often "
            f"{turns} {'turn' if turns == 1 else 'turns'} {'later' if int(step) > 0 else 'earlier'}"
            ": is each state in its own turn, after the user's utterance?",
            *moved,
        )
