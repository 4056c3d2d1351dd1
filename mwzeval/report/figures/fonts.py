"""Fonts of figures: installed ones for characters that the usual one lacks, such as Chinese ones.

The usual one comes with matplotlib and has Latin, Greek and Cyrillic letters.
"""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from mwzeval.errors import MwzevalWarning, shorten

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PREFERRED = (
    *("Noto Sans CJK SC", "Noto Sans SC", "Noto Sans CJK", "Source Han Sans", "PingFang"),
    *("Hiragino Sans GB", "Microsoft YaHei", "SimHei", "WenQuanYi", "Droid Sans Fallback"),
)
"""What names of fonts begin with that are like the usual one, and have Chinese characters."""

PLACEHOLDERS = "Last Resort"
"""What the name of a font begins with that has a box for each character (Unicode's)."""

_LACKING = re.compile(r"Glyph (\d+) .*missing from")


def save_legibly(figure: Figure, save: Callable[[], None]) -> None:
    """Call what saves a figure; again with other fonts where the usual one lacks characters.

    Warns with `MwzevalWarning` where no font has them; those of matplotlib are not shown.
    """
    with _lacking() as lacking:
        save()
    if not lacking:
        return
    _add_fonts(figure, lacking)
    with _lacking() as lacking:
        save()
    if lacking:
        warnings.warn(MwzevalWarning(_message(lacking)), stacklevel=2)


@contextmanager
def _lacking() -> Iterator[set[str]]:
    """Give what will have the characters that no font of a figure has; tell other warnings."""
    found: set[str] = set()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield found
    for each in caught:
        if match := _LACKING.match(str(each.message)):
            found.add(chr(int(match[1])))
        else:
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)


def _message(lacking: set[str]) -> str:
    some = shorten("".join(sorted(lacking)), 12)
    needed = "one that has them"
    if any(unicodedata.name(each, "").startswith("CJK") for each in lacking):
        needed = "one for Chinese, such as Noto Sans CJK (on Debian the package fonts-noto-cjk)"
    return (
        f"the figure has characters that no font here can draw ({some}): install {needed}, and "
        "draw it again"
    )


def _add_fonts(figure: Figure, lacking: set[str]) -> None:
    """Let the texts of a figure that has been drawn take such characters from installed fonts."""
    from matplotlib.text import Text

    families = list(_families(lacking))
    for text in figure.findobj(Text):
        if isinstance(text, Text) and lacking & set(text.get_text()):
            text.set_fontfamily([*text.get_fontfamily(), *families])


def _families(lacking: set[str]) -> Iterator[str]:
    """Yield the names of fonts that have such characters, until there are fonts for all."""
    from matplotlib.font_manager import findSystemFonts, fontManager, get_font

    # The list of matplotlib is kept in a file, which knows nothing of fonts installed later.
    known = {font.fname for font in fontManager.ttflist}
    for path in sorted(set(findSystemFonts()) - known):
        with suppress(OSError, RuntimeError):  # no font, or not one that can be drawn with
            fontManager.addfont(path)
    left = set(lacking)
    for font in sorted(fontManager.ttflist, key=lambda font: (_rank(font.name), font.name)):
        if font.name.startswith(PLACEHOLDERS) or font.style != "normal":
            continue
        has: set[str] = set()
        if left and font.weight in (400, "normal", "regular"):
            with suppress(OSError, RuntimeError):  # it was there when the list was made
                face = get_font(font.fname)
                has = {each for each in left if face.get_char_index(ord(each))}
        if has:
            left -= has
            yield font.name


def _rank(name: str) -> int:
    ranks = (rank for rank, begins in enumerate(PREFERRED) if name.startswith(begins))
    return next(ranks, len(PREFERRED))
