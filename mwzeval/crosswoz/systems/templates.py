"""Template NLG: sentences with placeholders, by what a turn says.

Source: Zhu et al., TACL 2020, section 4.5. Templates are in the public format: `auto` templates are
sentences for whole turns, mined from a corpus; `manual` ones are sentences for single acts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from mwzeval.crosswoz.act_keys import (
    Key,
    act_key,
    as_said,
    lowered,
    parse_key,
    turn_key,
    value_of,
)
from mwzeval.crosswoz.corpus.acts import INFORM, SEPARATOR, Act, Acts
from mwzeval.crosswoz.corpus.names import NOTHING
from mwzeval.crosswoz.draws import Draws

Mode = Literal["auto", "manual", "auto_manual"]
MODES: tuple[Mode, ...] = ("auto", "manual", "auto_manual")
SUBJECT, ATTRIBUTE = "主体", "属性"
"""Placeholders for the domain and the slot of an act that says there is no such thing."""
NOTHING_KEY = SEPARATOR.join((INFORM, SUBJECT, ATTRIBUTE, NOTHING))
PLACEHOLDER = re.compile(r"\[[^\[\]]*\]")
COMMA, FULL_STOP = "，", "。"
_PAUSES = "。，,;； "
_ENDS = "？?！!~～…"
Sentences = Mapping[str, Sequence[str]]
"""Key, as a template file spells it → sentences."""


@dataclass(frozen=True, slots=True, eq=False)
class Templates:
    """The sentences of one side, by key: of whole turns, and of single acts."""

    auto: Mapping[Key, Sequence[str]]
    manual: Sentences

    @classmethod
    def from_json(cls, auto: Sentences, manual: Sentences) -> Templates:
        """Return templates in the form of the public files; keys of one multiset are merged."""
        by_key: dict[Key, list[str]] = {}
        for text, sentences in auto.items():
            by_key.setdefault(parse_key(text), []).extend(sentences)
        return cls(by_key, manual)

    def sentence(self, acts: Acts, draws: Draws, mode: Mode = "auto_manual") -> str | None:
        """Return a sentence that says the acts, None when there is no template for them.

        `auto` chooses among the sentences for just this turn, `manual` puts one sentence a kind of
        act together; `auto_manual`, the mode of the paper, does so when there is no former.
        """
        spoken = lowered(acts)
        if mode != "manual" and (sentences := self.auto.get(turn_key(spoken))):
            return fill(draws.choose(sentences), spoken)
        return None if mode == "auto" else self._in_parts(spoken, draws)

    def _in_parts(self, acts: Acts, draws: Draws) -> str | None:
        kinds: dict[str, list[Act]] = {}
        for act in as_said(acts):
            kinds.setdefault(act_key(act), []).append(act)
        text = ""
        for key, of_kind in kinds.items():
            for sentences, told in self._cut(key, of_kind):
                if not sentences:
                    return None
                text += _as_part(fill(draws.choose(sentences), told))
        return text[: -len(COMMA)] + FULL_STOP if text.endswith(COMMA) else text or None

    def _cut(self, key: str, acts: Sequence[Act]) -> Iterator[tuple[Sequence[str], Sequence[Act]]]:
        """Yield acts of one kind with the sentences that tell as many of them at once as can be."""
        start = 0
        while start < len(acts):
            left = len(acts) - start
            size = next((n for n in range(left, 1, -1) if manual_key(key, n) in self.manual), 1)
            sentences = self.manual.get(manual_key(key, size), ())
            if not sentences and acts[start].value == NOTHING:
                sentences = self.manual.get(NOTHING_KEY, ())
            yield sentences, acts[start : start + size]
            start += size


def manual_key(key: str, times: int) -> str:
    """Return the key of sentences that say a kind of act several times: `…+名称1+名称2`."""
    if times == 1:
        return key
    start, _, slot = key.rpartition(SEPARATOR)
    return SEPARATOR.join([start, *(f"{slot}{number}" for number in range(1, times + 1))])


def fill(sentence: str, acts: Iterable[Act]) -> str:
    """Return a sentence with the values of acts in its placeholders.

    The first act of a key fills `[key]` and `[key1]`, the next `[key2]`; an act that says there is
    no such thing fills `[主体]` (subject) and `[属性]` (attribute).
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


def _as_part(sentence: str) -> str:
    """Return a sentence as it is followed by another: with a comma, unless it asks or exclaims."""
    part = sentence.rstrip(_PAUSES)
    return part if not part or part[-1] in _ENDS else part + COMMA
