"""Which dialogues are there: each once, or as numbered rollouts of the same dialogue.

Corpora have some thousand dialogues, and training makes millions of conversations from their goals.
The id of such a rollout is that of the dialogue and a number: `sng0073#12`.
"""

from __future__ import annotations

import pickle
import re
import zlib
from collections.abc import Iterator

ROLLOUT = re.compile(r"(?P<dialogue>.+)#(?P<number>0|[1-9][0-9]{0,5})", re.DOTALL)
"""At most a million rollouts of a dialogue, so that what is known about them stays small."""


def dialogue_of(name: str) -> str:
    """Return the id of the dialogue that this is a rollout of: `sng0073#12` → `sng0073`."""
    return _split(name)[0]


def _split(name: str) -> tuple[str, int]:
    """Return the dialogue and the place of the rollout: 0 for the id alone, else number + 1."""
    rollout = ROLLOUT.fullmatch(name)
    return (rollout["dialogue"], int(rollout["number"]) + 1) if rollout else (name, 0)


class Seen:
    """A set of ids, rollouts among them, exact and at a bit for each rollout of a dialogue."""

    __slots__ = ("_places",)

    def __init__(self) -> None:
        self._places: dict[str, int] = {}
        """By dialogue, a number whose bits are the rollouts that were seen."""

    def add(self, name: str) -> bool:
        """Add an id; return whether it is new."""
        dialogue, place = _split(name)
        before = self._places.get(dialogue, 0)
        self._places[dialogue] = before | 1 << place
        return not before >> place & 1

    def merge(self, other: Seen) -> None:
        """Add the ids of another set."""
        for dialogue, places in other._places.items():
            self._places[dialogue] = self._places.get(dialogue, 0) | places

    def common(self, other: Seen) -> Iterator[str]:
        """Yield the ids that both have."""
        for dialogue, places in other._places.items():
            twice = self._places.get(dialogue, 0) & places
            while twice:
                place = (twice & -twice).bit_length() - 1
                twice &= twice - 1
                yield f"{dialogue}#{place - 1}" if place else dialogue

    def rollouts(self, dialogue: str) -> int:
        """Return how many rollouts of a dialogue there are, 1 for the dialogue alone."""
        return self._places.get(dialogue, 0).bit_count()

    def __contains__(self, dialogue: object) -> bool:
        return dialogue in self._places

    def __len__(self) -> int:
        """How many different dialogues there are."""
        return len(self._places)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __getstate__(self) -> bytes:
        # Rollouts of one shard are few bits far up; sent as they are, most would be zeros.
        return zlib.compress(pickle.dumps(self._places), level=1)

    def __setstate__(self, state: bytes) -> None:
        self._places = pickle.loads(zlib.decompress(state))
