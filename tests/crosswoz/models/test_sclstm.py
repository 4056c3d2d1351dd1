"""SC-LSTM: equations, gradients, learning and generated sentences."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from mwzeval.crosswoz.corpus.acts import Act
from mwzeval.crosswoz.corpus.dialogues import Dialogue
from mwzeval.crosswoz.models.sclstm import (
    END,
    START,
    SclstmNetwork,
    Vocabulary,
    examples_of,
    features,
    load_sclstm,
    slot_errors,
    train_sclstm,
)
from mwzeval.crosswoz.protocols import SYSTEM, USER, Rng
from mwzeval.crosswoz.scoring.text_scores import value_counts
from mwzeval.crosswoz.systems.templates import SIDES, turns_of
from mwzeval.crosswoz.training import SclstmSettings
from tests.crosswoz.real_data import fold

pytestmark = pytest.mark.integration

torch = pytest.importorskip("torch")
SMALL = SclstmSettings(hidden=12, epochs=3, batch_size=16, rarest=1)
RNG = Rng(0)


def some(start: int = 0, end: int = 6) -> list[Dialogue]:
    return list(fold("val").dialogues.values())[start:end]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sclstm")
    train_sclstm(some(), some(6, 8), folder, SMALL)
    return folder


def test_generator_overfits_ten_dialogues(tmp_path: Path) -> None:
    learned = some(0, 10)
    settings = SclstmSettings(hidden=100, epochs=50, learning_rate=0.01, dropout=0.0, rarest=1)
    train_sclstm(learned, learned, tmp_path / "model", settings)
    nlg = load_sclstm(tmp_path / "model")
    for side in SIDES:
        known: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
        for example in examples_of(learned, side):
            known.setdefault(example.features, set()).add(example.tokens)
        model = nlg.sides[side]
        assert np.mean([model.tokens(key) in sentences for key, sentences in known.items()]) > 0.95
        values = missing = 0
        for turn in (turn for dialogue in learned for turn in turns_of(dialogue, side)):
            if tuple(sorted(features(turn.acts))) in known:
                counts = value_counts(nlg.say(turn.acts, side, RNG) or "", turn.acts)
                values, missing = values + counts[0], missing + counts[1]
        assert values > 50
        assert missing / values < 0.02


def test_beam_of_one_is_greedy_decoding(trained: Path) -> None:
    model = load_sclstm(trained, beam=1).sides[USER]
    network, tokens = model.network, model.vocabulary.tokens
    for example in examples_of(some(), USER)[:20]:
        inputs = example.features
        may = [
            token == END or (token != START and (token[0] != "[" or token[1:-1] in inputs))
            for token in tokens
        ]
        output = [START]
        with torch.no_grad():
            state = network.begin(model.vocabulary.multi_hot([inputs]))
            while output[-1] != END and len(output) < 101:
                embedded = network.embedding[[tokens.index(output[-1])]]
                state = network.cell(state, network.token_parts(embedded))
                scores = network.log_probabilities(state.hidden)[0].tolist()
                output.append(max(zip(may, scores, tokens, strict=True))[2])
        assert model.tokens(inputs) == tuple(token for token in output[1:] if token != END)


def test_generated_sentences_contain_the_values_of_their_acts(trained: Path) -> None:
    nlg = load_sclstm(trained)
    price = Act("Inform", "餐馆", "人均消费", "50-100元")
    values = ("50-100元", "[x]", "\ud800")
    texts = [nlg.say((price._replace(value=value),), USER, RNG) or "" for value in values]
    assert len({text.replace(v, "_") for text, v in zip(texts, values, strict=True)}) == 1
    thanks, unknown = Act("General", "thank", "none", "none"), Act("Inform", "酒店", "没有", "x")
    assert nlg.say((unknown,), SYSTEM, RNG) is None
    said = nlg.say((thanks,), USER, RNG)
    assert nlg.say((thanks,), USER, Rng(1)) == nlg.say((thanks, unknown), USER, RNG) == said
    many = tuple(Act("Inform", "餐馆", "推荐菜", str(n)) for n in range(300))
    for acts in ((), many):
        assert isinstance(nlg.say(acts, SYSTEM, RNG), str | None)


@pytest.mark.parametrize(
    ("tokens", "errors"),
    [(["a", "[x]", "[y]"], 0), (["[x]", "[x]"], 2), ([], 2), (["[x]", "[y]", "[y]", "[y]"], 2)],
)
def test_slot_errors_count_missing_and_repeated_placeholders(
    tokens: list[str], errors: int
) -> None:
    assert slot_errors(tokens, frozenset({"[x]", "[y]"})) == errors


TOKENS, FEATURES, HIDDEN = 7, 5, 4
Array = NDArray[np.float64]


def drawn(seed: int = 3) -> tuple[SclstmNetwork, dict[str, Array]]:
    """Return a random network in double precision, and its weights as arrays."""
    draws = np.random.default_rng(seed)
    known = Vocabulary(tuple("abcde"), (START, END, *"vwxyz"))
    network = SclstmNetwork(known, SclstmSettings(hidden=HIDDEN)).double()
    for weight in network.parameters():
        weight.data = torch.tensor(draws.normal(scale=0.7, size=tuple(weight.shape)))
    return network, {name: w.detach().numpy() for name, w in network.named_parameters()}


def sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def by_the_paper(
    params: dict[str, Array], token: int, h: Array, c: Array, d: Array
) -> tuple[Array, Array, Array]:
    """One step of equations 4 to 11 of Wen et al. (2015), with α = 0.5."""
    w = params["embedding"][token]
    pre = params["gates_token"] @ w + params["gates_hidden"] @ h + params["gates_bias"]
    i, f, o, new = pre[:HIDDEN], pre[HIDDEN : 2 * HIDDEN], pre[2 * HIDDEN : -HIDDEN], pre[-HIDDEN:]
    r = sigmoid(params["reading_token"] @ w + 0.5 * (params["reading_hidden"] @ h))
    d = r * d
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(new) + np.tanh(params["acts"] @ d)
    return sigmoid(o) * np.tanh(c), c, d


def losses_by_the_paper(params: dict[str, Array], acts: Array, tokens: list[int]) -> Array:
    h = c = np.zeros(HIDDEN)
    d, words, costs = acts, 0.0, 0.0
    for token, following in pairwise(tokens):
        before = d
        h, c, d = by_the_paper(params, token, h, c, d)
        logits = params["output"] @ h + params["output_bias"]
        words -= logits[following] - np.log(np.exp(logits).sum())
        costs += 1e-4 * 100 ** np.linalg.norm(d - before)
    return np.array([words, costs + np.linalg.norm(d)])


def test_losses_match_the_paper_and_ignore_padding() -> None:
    network, params = drawn()
    draws = np.random.default_rng(2)
    acts = draws.integers(0, 2, size=(4, FEATURES)).astype(np.float64)
    acts[2] = 0  # a turn without acts
    sentences = [[0, *draws.integers(2, TOKENS, size=size), 1] for size in (1, 5, 0, 3)]
    lengths = torch.tensor([len(sentence) for sentence in sentences])
    expected = sum(losses_by_the_paper(params, *pair) for pair in zip(acts, sentences, strict=True))
    for filling in (0, 5):
        rows = [sentence + [filling] * (7 - len(sentence)) for sentence in sentences]
        found = network.losses(torch.tensor(acts), torch.tensor(rows), lengths)
        assert [found.words.item(), found.acts.item()] == pytest.approx(expected, rel=1e-12)


def test_turns_without_acts_have_finite_gradients() -> None:
    network, _ = drawn()
    acts = torch.zeros((1, FEATURES), dtype=torch.float64)
    words, costs = network.losses(acts, torch.tensor([[0, 3, 1]]), torch.tensor([3]))
    (words + costs).backward()  # type: ignore[no-untyped-call]
    assert all(torch.isfinite(weight.grad).all() for weight in network.parameters())
