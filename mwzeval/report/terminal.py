"""How standard output is written to: as wide as the terminal is, and with colours where wanted."""

from __future__ import annotations

import os
import shutil
import sys

from mwzeval.scores.sheets import PLAIN, Document, Look, render, to_text


def output_look() -> Look:
    """Return the look of standard output: plain text where it is not a terminal.

    Colours are for terminals that can show them; `NO_COLOR` forbids them, and `FORCE_COLOR` or
    `CLICOLOR_FORCE` wants them everywhere (each of these when it is set to something).
    """
    is_terminal = sys.stdout.isatty()
    forced = any(
        os.environ.get(name, "0") not in ("", "0") for name in ("FORCE_COLOR", "CLICOLOR_FORCE")
    )
    able = is_terminal and os.environ.get("TERM") != "dumb"
    return Look(
        colours=not os.environ.get("NO_COLOR") and (forced or able),
        width=shutil.get_terminal_size().columns if is_terminal else None,
    )


def printed(document: Document, format_name: str) -> str:
    """Return a document as it is printed on standard output, in a format.

    A terminal gets one line instead of the signatures.
    """
    look = output_look()
    if format_name != "text" or look == PLAIN:
        return render(document, format_name)
    return to_text(document, look, signatures=look.width is None)
