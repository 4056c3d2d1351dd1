"""The table of cues compiles, and the code and it know the same keys."""

from __future__ import annotations

import re

from mwzeval.multiwoz.live.cues import cue, keyed_lines
from tests.places import ROOT

KEY = re.compile(r'"((?:agent|user) [a-z ]+\+?)"')
MULTIWOZ = ROOT / "mwzeval" / "multiwoz"
READERS = (*(MULTIWOZ / "live").rglob("*.py"), MULTIWOZ / "template_system.py")


def test_every_cue_compiles_and_is_looked_up() -> None:
    named = {key for file in READERS for key in KEY.findall(file.read_text(encoding="utf-8"))}
    known = [key for key in keyed_lines("cues.tsv") if not key.startswith("part ")]
    for key in known:
        cue(key)
        kinds = {" ".join(key.split()[:number]) for number in range(2, 6)}
        assert not kinds.isdisjoint(named) or key.startswith("user free "), key
