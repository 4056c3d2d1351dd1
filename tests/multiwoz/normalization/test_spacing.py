"""Spaces are those that sacremoses leaves, whichever way they come about."""

from __future__ import annotations

import subprocess
import sys
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacremoses import MosesDetokenizer, MosesTokenizer

from mwzeval.multiwoz.placeholders import canonical_response, natural_spacing
from tests.multiwoz import specification
from tests.places import ROOT, SAMPLE_SYSTEMS, read_json, sample_predictions, shared

TOKENIZER, DETOKENIZER = MosesTokenizer(lang="en"), MosesDetokenizer(lang="en")

pieces = st.sampled_from(
    [
        *(
            "the",
            "no",
            "mr",
            "p.m",
            "A",
            "boys",
            "DOT",
            "MULTI",
            "is",
            "NAME",
            "12",
            "0",
            "é",
            "東",
        ),
        *("'s", "'t", "n't", "'", "''", '"', "`", "``", "-", "--", "@-@", "&amp;", "&", "|", "<"),
        *(">", ".", "..", "...", ",", "?", "!", ":", ";", "%", "$", "(", ")", "[", "]", "{", "}"),
        *("/", " ", " ", "  ", " .", " ,", ", ", ". ", "\t", "\n", "\x00", "\u00a0", "_", "#"),
        *("*", "\\", "~"),
    ]
)
texts = st.one_of(st.lists(pieces, max_size=12).map("".join), st.text(max_size=12))


@cache
def spaced(text: str) -> str:
    return str(DETOKENIZER.detokenize(TOKENIZER.tokenize(text)))


@given(texts)
def test_any_text_is_spaced_as_the_library_spaces_it(text: str) -> None:
    assert natural_spacing(text) == spaced(text)


@pytest.mark.integration
@pytest.mark.parametrize("system", ["augpt", "galaxy-e2e", "ubar"])
def test_responses_of_a_published_system_are_spaced_as_the_library_spaces_them(system: str) -> None:
    dialogues = read_json(shared("data", "multiwoz", "predictions", f"{system}.json")).values()
    said = {canonical_response(turn["response"]) for turns in dialogues for turn in turns}
    for text in sorted(said)[::7]:
        assert natural_spacing(text) == spaced(text)


@pytest.mark.parametrize("system", SAMPLE_SYSTEMS)
def test_responses_of_the_sample_are_spaced_as_specified(system: str) -> None:
    for turns in sample_predictions(system).values():
        for turn in turns:
            text = natural_spacing(canonical_response(turn["response"]))
            assert text == specification.normal_response(turn["response"])


@pytest.mark.integration
def test_usual_responses_load_no_library_of_texts() -> None:
    good = str(ROOT / "predictions" / "sample-good.json")
    program = (
        "import sys\n"
        "from mwzeval.cli import main\n"
        f"assert main(['evaluate', '-bsr', '-i', {good!r}, '-o', '/dev/null']) == 0\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    loaded = set(done.stderr.decode().split())
    assert not loaded & {"sacremoses", "sacrebleu", "joblib", "tqdm", "lexical_diversity", "scipy"}
