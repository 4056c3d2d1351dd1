"""Lines of tab-separated files, which end as any system ends them."""

from __future__ import annotations

from collections.abc import Iterator


def lines_of(text: str) -> Iterator[tuple[int, str]]:
    """Yield (number from 1, line) of the lines that are not blank.

    Only LF and CRLF end a line: an utterance may hold U+2028 and other separators.
    """
    for number, line in enumerate(text.split("\n"), start=1):
        line = line.removesuffix("\r")
        if line.strip():
            yield number, line
