"""What goes to standard output and standard error, and what becomes of odd characters in it.

Standard output has the result, standard error everything else.
"""

from __future__ import annotations

import codecs
import os
import sys
from io import TextIOWrapper

from mwzeval.errors import printable, shorten

ESCAPING = "mwzeval.escaping"
"""The error handler of the streams: what an encoding lacks becomes an escape that JSON knows."""


def prepare_streams() -> None:
    """Let closed streams swallow what is written, and odd encodings escape what they lack."""
    codecs.register_error(ESCAPING, _escaped)
    nowhere = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 - as long as we run
    sys.stdout = sys.stdout or nowhere
    sys.stderr = sys.stderr or nowhere
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors=ESCAPING)


def tell(message: str) -> None:
    """Print a message of one line to standard error."""
    print(printable(message), file=sys.stderr)


def write_result(text: str, format_name: str) -> None:
    """Write what was rendered in a format to standard output.

    A page says itself that it is UTF-8, so it is, whatever the encoding of the stream. LaTeX knows
    no escapes: what the encoding lacks becomes "?", as do characters that its fonts lack.
    """
    stream = sys.stdout
    if isinstance(stream, TextIOWrapper) and format_name == "html":
        stream.flush()
        stream.buffer.write(text.encode("utf-8", "backslashreplace"))
        return
    if isinstance(stream, TextIOWrapper) and format_name == "latex":
        text = text.encode(stream.encoding, "replace").decode(stream.encoding)
    stream.write(text)


def write_output(path: str, content: str | bytes, about: str = "", *, quiet: bool = False) -> None:
    """Write a file that was asked for, whole or not at all, and tell so; nothing where `quiet`.

    What is told is "wrote PATH", with `about` behind, and whether it took the place of another
    file. Raises `MwzevalError`.
    """
    from mwzeval.files.writing import write_atomically

    is_replaced = os.path.isfile(path)  # noqa: PTH113 - a name may have a NUL in it
    write_atomically(path, content)
    if not quiet:
        sys.stdout.flush()  # on a terminal it comes behind what was printed
        tell(f"wrote {shorten(path, 300)}{about}" + " in place of the one there was" * is_replaced)


def _escaped(error: UnicodeError) -> tuple[str, int]:
    """Return \\uXXXX for each character, two for one beyond the BMP, and where to go on."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass").hex()
    places = range(0, len(units), 4)
    return "".join(f"\\u{units[place : place + 4]}" for place in places), error.end
