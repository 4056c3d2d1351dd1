"""The network against other ways to compute the same: a packed layer, plain sums, differences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from mwzeval.crosswoz.trade.examples import (
    END,
    PADDING,
    SLOTS,
    SPECIAL,
    SYSTEM,
    UNKNOWN,
    USER,
    Example,
    TradeSettings,
)
from mwzeval.crosswoz.trade.network import FILLED, trade_network

torch = pytest.importorskip("torch")
VOCABULARY = SPECIAL + 4
SETTINGS = TradeSettings(hidden=6, dropout=0.0, longest_value=7)


def example(words: Sequence[int], **values: Sequence[int]) -> Example:
    """Return an example; `s3` are the words of slot 3."""
    slots = {int(name[1:]): tuple(of) for name, of in values.items()}
    unknown = tuple(f"unknown {n}" for n in range(max(0, max(words) + 1 - VOCABULARY)))
    return Example(np.array(words, dtype=np.int32), unknown, slots)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Threads cost more than they bring with so few numbers."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


EXAMPLES = [
    example([USER, 5, 6, 9, 10, 9], s0=(9, 10), s7=(5,), s25=(8, 9, 6)),
    example([USER, 5, 9, SYSTEM, 7, 7, 8, USER, 6, 6, 5], s3=(9,), s0=(7, 7)),
    example([USER]),
]


def network(seed: int = 1, scale: float = 3.0) -> Any:
    """Return a network of double precision whose weights are large enough to tell words apart."""
    torch.manual_seed(seed)
    made = trade_network(VOCABULARY, SETTINGS).double().eval()
    with torch.no_grad():
        for weight in made.parameters():
            weight *= scale
        made.words.weight[PADDING] = 0
        made.gate.bias[FILLED] += scale
    return made


def test_the_encoder_is_a_bidirectional_layer() -> None:
    """PyTorch's own, over packed histories, with the same weights; directions are summed."""
    made = network()
    oracle = torch.nn.GRU(6, 6, batch_first=True, bidirectional=True).double()
    for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
        getattr(oracle, f"{name}_l0").data = getattr(made.forwards, f"{name}_l0").data
        getattr(oracle, f"{name}_l0_reverse").data = getattr(made.backwards, f"{name}_l0").data
    histories, encoded, whole = made.encode(EXAMPLES)
    for row, each in enumerate(EXAMPLES):
        length = len(each.words)
        assert histories[row, :length].tolist() == each.words.tolist()
        assert (histories[row, length:] == PADDING).all()
        known = torch.from_numpy(np.where(each.words < VOCABULARY, each.words, UNKNOWN))
        states, last = oracle(made.words(known).unsqueeze(0))
        torch.testing.assert_close(encoded[row, :length], states[0, :, :6] + states[0, :, 6:])
        torch.testing.assert_close(whole[row], last.sum(dim=0)[0])


def plain_gru(layer: Any, value: Any, state: Any) -> Any:
    """Return the next state of a recurrent layer, by its definition (Cho et al., 2014)."""
    of = {name: weight.detach().numpy() for name, weight in layer.named_parameters()}
    mine = of["weight_ih_l0"] @ value + of["bias_ih_l0"]
    theirs = of["weight_hh_l0"] @ state + of["bias_hh_l0"]
    reset, update = (1 / (1 + np.exp(-(mine[i : i + 6] + theirs[i : i + 6]))) for i in (0, 6))
    new = np.tanh(mine[12:] + reset * theirs[12:])
    return (1 - update) * new + update * state


def softmax(scores: Any) -> Any:
    raised = np.exp(scores - scores.max())
    return raised / raised.sum()


def plain_loss(made: Any, each: Example) -> float:
    """Return the negative log-likelihood of a state, slot by slot, word by word."""
    words = made.words.weight.detach().numpy()
    known = np.where(each.words < VOCABULARY, each.words, UNKNOWN)
    ahead, back = [np.zeros(6)], [np.zeros(6)]
    for number in known:
        ahead.append(plain_gru(made.forwards, words[number], ahead[-1]))
    for number in known[::-1]:
        back.append(plain_gru(made.backwards, words[number], back[-1]))
    encoded = np.array(ahead[1:]) + np.array(back[:0:-1])
    whole = ahead[-1] + back[-1]
    names = list(dict.fromkeys(slot for _, slot in SLOTS))
    domains = list(dict.fromkeys(domain for domain, _ in SLOTS))
    total = 0.0
    for number, (domain, name) in enumerate(SLOTS):
        value = made.domains.weight[domains.index(domain)] + made.slots.weight[names.index(name)]
        value = value.detach().numpy()
        state = plain_gru(made.decoder, value, whole)
        seen = softmax(encoded @ state) @ encoded
        of_gate = made.gate.weight.detach().numpy() @ np.concatenate([state, seen])
        gate = softmax(of_gate + made.gate.bias.detach().numpy())
        total -= np.log(gate[FILLED if number in each.values else 1 - FILLED])
        for word in (*each.values[number], END) if number in each.values else ():
            looks = softmax(encoded @ state)
            seen = looks @ encoded
            given = np.concatenate([state, seen, value])
            score = made.switch.weight.detach().numpy()[0] @ given + made.switch.bias.item()
            share = 1 / (1 + np.exp(-score))
            chance = (1 - share) * looks[each.words == word].sum()
            if word < VOCABULARY:
                chance += share * softmax(words @ state)[word]
            total -= np.log(chance)
            value = words[word if word < VOCABULARY else UNKNOWN]
            state = plain_gru(made.decoder, value, state)
    return total


@pytest.mark.parametrize("scale", [1.0, 3.0])
def test_the_loss_is_the_likelihood_of_the_state(scale: float) -> None:
    made = network(scale=scale)
    losses = [plain_loss(made, each) for each in EXAMPLES]
    assert made.loss(EXAMPLES).item() == pytest.approx(sum(losses) / 3, rel=1e-9)
    for each, loss in zip(EXAMPLES, losses, strict=True):
        assert made.loss([each]).item() == pytest.approx(loss, rel=1e-9)


@pytest.mark.parametrize(
    "weight",
    [
        *("gate.weight", "gate.bias", "switch.weight", "switch.bias", "words.weight"),
        *("domains.weight", "slots.weight", "decoder.weight_hh_l0", "backwards.weight_ih_l0"),
    ],
)
def test_gradients_are_those_of_differences(weight: str) -> None:
    """Of the gate, of copying (the switch and what attention sees) and of what is before them."""
    made = network(scale=2.0)
    made.loss(EXAMPLES).backward()
    parameter = dict(made.named_parameters())[weight]
    step = 1e-6
    flat, gradient = parameter.data.view(-1), parameter.grad.view(-1)
    places = np.random.default_rng(0).permutation(len(flat))[:6].tolist()
    for place in places:
        if weight == "words.weight" and place < 6:
            continue  # of padding, which never learns
        before = flat[place].item()
        losses = []
        for change in (step, -step):
            flat[place] = before + change
            losses.append(made.loss(EXAMPLES).item())
        flat[place] = before
        difference = (losses[0] - losses[1]) / (2 * step)
        assert gradient[place].item() == pytest.approx(difference, rel=1e-5, abs=1e-8)
    assert gradient.abs().max() > 0


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("share", [-30.0, 0.0, 30.0])
def test_what_is_written_is_the_likeliest_word_by_word(seed: int, share: float) -> None:
    """Every word is the best of all by the likelihood that training uses, given those before.

    Also where everything is copied, or nothing.
    """
    made = network(seed, scale=4.0)
    made.switch.bias.data.fill_(share)
    for each in EXAMPLES[:2]:  # the third has nothing to copy
        with torch.inference_mode():
            histories, encoded, whole = made.encode([each])
            inputs, states = made.begin(whole)
            _, seen = made.attend(states, encoded, histories)
            filled = made.gate(torch.cat([states, seen], dim=2)).argmax(dim=2)[0] == FILLED
            (found,) = made.states([each])
            assert set(found) <= set(filled.nonzero().flatten().tolist())
            for slot, value in found.items():
                first = inputs[:, slot], states[:, slot], encoded, histories
                assert len(value) <= SETTINGS.longest_value
                assert share >= 0 or set(value) <= set(each.words.tolist())
                assert share <= 0 or max(value) < VOCABULARY
                choices = [END, *range(SPECIAL, VOCABULARY + len(each.unknown))]
                complete = [*value, END][: SETTINGS.longest_value]
                for place, word in enumerate(complete):
                    chances = {}
                    for choice in choices:
                        begun = [*value[:place], choice]
                        chances[choice] = made.likelihoods([begun], *first)[place].item()
                    assert word == max(chances, key=lambda choice: chances[choice])


def test_examples_do_not_change_each_other() -> None:
    made = network(2, scale=4.0)
    with torch.inference_mode():
        together = made.states(EXAMPLES)
        assert together == [made.states([each])[0] for each in EXAMPLES]
    assert any(together)


def test_words_are_read_as_unknown_only_in_training() -> None:
    made = trade_network(VOCABULARY, TradeSettings(hidden=6, dropout=0.5))
    torch.manual_seed(0)
    assert made.loss(EXAMPLES).item() != made.loss(EXAMPLES).item()
    made.eval()
    assert made.loss(EXAMPLES).item() == made.loss(EXAMPLES).item()
