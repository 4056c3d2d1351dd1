"""Every kind of reason has one sentence, which terminal, page and documentation share."""

from __future__ import annotations

import re

import pytest

from mwzeval.benchmark import benchmark_named
from mwzeval.multiwoz.grounding.reasons import GROUNDED_KINDS
from mwzeval.multiwoz.live.losses import SENTENCES
from mwzeval.multiwoz.live.scored.levels import ACT_SENTENCES
from mwzeval.multiwoz.reasons import MEANINGS
from mwzeval.multiwoz.scoring.reasons import KINDS
from mwzeval.multiwoz.tracking.state_errors import ERRORS
from tests.places import ROOT
from tests.samples import NAMES

DOCUMENTS = {"multiwoz": "reasons.md"}
"""Where the reasons of a benchmark are told, if not on the page of its name."""


@pytest.mark.parametrize("name", NAMES)
def test_the_documentation_says_of_every_reason_what_page_and_terminal_say(name: str) -> None:
    page = (ROOT / "docs" / DOCUMENTS.get(name, f"{name}.md")).read_text(encoding="utf-8")
    meanings = benchmark_named(name).reasons
    assert meanings
    for code, sentence in meanings.items():
        assert re.fullmatch(r"[A-Z].+\.", sentence)
        told = [
            " ".join(text.replace("`", "").split()).lower()
            for text in re.findall(
                rf"(?:^### `{code}(?::\w+)?`\n|^\| `{code}(?::[^`]+)?`)(.*?)(?=^#|^\||\Z)",
                page,
                re.MULTILINE | re.DOTALL,
            )
        ]
        assert told, code
        for text in told:
            assert sentence.rstrip(".").lower() in text, code


def test_every_kind_of_multiwoz_has_a_sentence() -> None:
    kinds = {*KINDS, *GROUNDED_KINDS, *SENTENCES, *ACT_SENTENCES, *ERRORS.values()}
    assert kinds == set(MEANINGS)
