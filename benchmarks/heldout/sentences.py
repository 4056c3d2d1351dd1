"""The sentences, and the notation they are written in.

`sentences.tsv` has a line a sentence: the domains of the venues that it speaks of, and its text, in
which `\\n` is a new line and ` ||| ` parts turns. `<phone|five/>` is a claim: the slot of the venue
and how it is spelled (`forms.py`); `<2.name|title/>` is of the second venue, `<0.area/>` of all,
`<count:area+food/>` the number of those with the venue's area and food, and
`<parking=yes|a free car park/>` says a value in other words. `{area}` is text that claims nothing,
`{area|other}` not even the venue's value; `{area|wish}` is another value that the user asked for,
and with `{area|none}` nothing is as the user asked. A sentence without a claim is a trap: nothing
in it is wrong. Lines `invented hotel`, `invented street` … are values that no database has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.heldout.forms import FORMS, spelled

SENTENCES = Path(__file__).with_name("sentences.tsv")
NAMES = ("name", "trainid")
OTHER, WISH, NONE = OTHERWISE = ("other", "wish", "none")
_TAG = re.compile(
    r"(?P<claim><)?(?(claim)|\{)(?:(?P<venue>\d)\.)?(?P<slot>[a-z]+)(?:=(?P<value>\w+))?"
    r"(?::(?P<by>[a-z+]+))?(?P<forms>(?:\|[^|<>{}]+?)*)(?(claim)/>|\})"
)


@dataclass(frozen=True, slots=True)
class Tag:
    """A place of a sentence that is filled: a claim, or words that claim nothing."""

    start: int
    end: int
    claim: bool
    venue: int
    slot: str
    forms: tuple[str, ...]
    value: str | None = None
    by: tuple[str, ...] = ()

    def say(self, value: str) -> str | None:
        """Return how the value is said; None when it cannot be said so."""
        if self.value is not None:
            return self.forms[0] if value == self.value else None
        return spelled(value, self.forms)

    @property
    def form(self) -> str:
        """The name of the form for tables."""
        return "in other words" if self.value is not None else " ".join(self.forms) or "raw"


@dataclass(frozen=True, slots=True)
class Sentence:
    """A line of the file."""

    number: int
    about: tuple[str, ...]
    text: str
    tags: tuple[Tag, ...]

    @property
    def claims(self) -> tuple[Tag, ...]:
        """The tags that claim something."""
        return tuple(tag for tag in self.tags if tag.claim)

    def names(self, tag: Tag) -> bool:
        """Tell whether the venue of a tag is named in the sentence."""
        return any(other.claim and other.venue == tag.venue and other.slot in NAMES
                   for other in self.tags)  # fmt: skip


@dataclass(frozen=True)
class HeldOut:
    """All sentences, and the values that no database has."""

    sentences: list[Sentence] = field(default_factory=list)
    invented: dict[str, list[str]] = field(default_factory=dict)


def read_sentences(path: Path = SENTENCES) -> HeldOut:
    """Return the sentences of a file. Raises `ValueError` for a line that cannot be read."""
    found = HeldOut()
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        about, tab, text = line.partition("\t")
        if not tab or not text:
            raise ValueError(f"{path.name}, line {number}: no tab between domains and text")
        if about.startswith("invented "):
            found.invented.setdefault(about.split()[1], []).append(text)
        else:
            text = text.replace("\\n", "\n")
            domains = tuple(about.split())
            tags = tuple(_tags(text, len(domains), f"{path.name}, line {number}"))
            found.sentences.append(Sentence(number, domains, text, tags))
    return found


def _tags(text: str, venues: int, where: str) -> Iterator[Tag]:
    end = 0
    for match in _TAG.finditer(text):
        if re.search(r"/>|[{}]", text[end : match.start()]):
            raise ValueError(f"{where}: a tag that cannot be read in {text[end : match.start()]!r}")
        end = match.end()
        forms = tuple(filter(None, (match["forms"] or "").split("|")))
        venue = int(match["venue"] or 1)
        if venue > venues:
            raise ValueError(f"{where}: there is no venue {venue}")
        unknown = [form for form in forms if form not in (*FORMS, *OTHERWISE)]
        if unknown and match["value"] is None:
            raise ValueError(f"{where}: unknown form {unknown[0]}")
        by = tuple((match["by"] or "").split("+")) if match["by"] else ()
        place = (match.start(), match.end(), match["claim"] is not None)
        yield Tag(*place, venue, match["slot"], forms, match["value"], by)
    if re.search(r"/>|[{}]", text[end:]):
        raise ValueError(f"{where}: a tag that cannot be read in {text[end:]!r}")
