"""Are responses in words or in placeholders? What speaks for either, counted, and the decision.

Like is held against like: a turn that gives a phone number, postcode, train id or reference as a
placeholder against one that gives it in words. Systems of either kind do so in a quarter to a third
of their turns, and hardly ever in the other way. Only placeholders that the scorer knows count:
brackets have many other uses, in Markdown for one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from mwzeval.multiwoz.identifiers import has_identifier
from mwzeval.multiwoz.normalization.placeholders import known_placeholders

IDENTIFIERS = frozenset({"PHONE", "POST", "TRAINID", "REFERENCE"})
"""The (canonical) placeholders of what can be told by its form alone where it stands in words."""


@dataclass(slots=True)
class Wording:
    """Counts of turns: with a known placeholder, with one of an identifier, and without any but
    with an identifier in words. Counts of parts add up.
    """

    with_placeholder: int = 0
    identifier_as_placeholder: int = 0
    identifier_in_words: int = 0

    @classmethod
    def of(cls, responses: Iterable[str]) -> Wording:
        """Count responses."""
        wording = cls()
        for response, times in Counter(responses).items():
            wording.add(response, times)
        return wording

    def add(self, response: str, times: int = 1) -> None:
        """Count a response that comes so many times."""
        if known := known_placeholders(response):
            self.with_placeholder += times
            self.identifier_as_placeholder += times * (not known.isdisjoint(IDENTIFIERS))
        elif has_identifier(response):
            self.identifier_in_words += times

    def merge(self, later: Wording) -> None:
        """Add the counts of another part."""
        self.with_placeholder += later.with_placeholder
        self.identifier_as_placeholder += later.identifier_as_placeholder
        self.identifier_in_words += later.identifier_in_words

    @property
    def lexicalized(self) -> bool:
        """Whether responses are in words: none has a placeholder, or most identifiers are words.

        As many of either are taken for words, because placeholders stay where responses are
        delexicalised, but words count for nothing where they are not.
        """
        in_words = self.identifier_in_words
        return not self.with_placeholder or 0 < in_words >= self.identifier_as_placeholder

    def plain(self) -> dict[str, int]:
        """Return the counts for JSON."""
        return asdict(self)
