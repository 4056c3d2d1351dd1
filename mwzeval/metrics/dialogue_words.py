"""The words of each dialogue, kept for what needs to know which dialogue they are of.

Intervals and paired tests of lexical richness leave dialogues out or swap them. The scores alone
need no more than `Richness`, whose memory does not grow with the number of dialogues.
"""

from __future__ import annotations

from collections.abc import Iterable

from mwzeval.metrics.richness import MSTTR_WINDOW, Richness


class DialogueWords:
    """The words of each turn of each dialogue, in input order."""

    def __init__(self) -> None:
        self.dialogues: list[list[tuple[str, ...]]] = []

    def add(self, turns: Iterable[tuple[str, ...]]) -> None:
        """Add a dialogue, as the words of each turn (see `richness.tokenize`)."""
        self.dialogues.append(list(turns))

    def words(self) -> list[str]:
        """Return all words in input order."""
        return [word for dialogue in self.dialogues for turn in dialogue for word in turn]

    def rows(self) -> list[dict[str, float]]:
        """Return what is additive of each dialogue: turns, words, and windows of MSTTR.

        A window, and the number of distinct words in it, belong to the dialogue where it starts.
        """
        tokens = self.words()
        rows = []
        first = 0
        for dialogue in self.dialogues:
            end = first + sum(map(len, dialogue))
            start = -(-first // MSTTR_WINDOW) * MSTTR_WINDOW
            windows = [
                tokens[at : at + MSTTR_WINDOW]
                for at in range(start, end, MSTTR_WINDOW)
                if at + MSTTR_WINDOW <= len(tokens)
            ]
            types = sum(len(set(window)) for window in windows)
            numbers = map(float, (len(dialogue), end - first, types, len(windows)))
            rows.append(dict(zip(Richness.columns, numbers, strict=True)))
            first = end
        return rows
