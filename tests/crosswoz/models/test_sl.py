"""The SL policy: figures, files and simulations."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path

import pytest

from mwzeval.crosswoz.simulation import Setting, simulate
from mwzeval.crosswoz.systems.sl_policy import (
    SlPolicy,
    SlSystem,
    Vocabulary,
    delexicalized,
    load_vocabulary,
    policy_turns,
    predicted_acts,
    train_policy,
)
from mwzeval.files.downloads import DataRoot
from tests.crosswoz.real_data import database, figures, fold
from tests.places import shared

pytestmark = pytest.mark.integration

FINISHED = {"S": 0.703, "M": 0.357, "M+T": 0.43, "CM": 0.137, "CM+T": 0.193}
"""Finish rates of this policy in 300 dialogues per type. Eight training seeds differ by 0.05
(docs/crosswoz.md), so only the mean is compared with the golden figures of another policy."""


@cache
def vocabulary() -> Vocabulary:
    return load_vocabulary(DataRoot(shared("data", "crosswoz"), "--data"))


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> SlPolicy:
    """The documented policy: 450 validation dialogues for training, 50 to choose the epoch."""
    folder = tmp_path_factory.mktemp("policy")
    dialogues = list(fold("val").dialogues.values())
    return train_policy(dialogues[:450], dialogues[450:], database(), vocabulary(), folder)[0]


def scores(policy: SlPolicy, *, paper_compatible: bool) -> tuple[float, float]:
    """Return act F1 and de-lexicalised act F1 on the test fold, in percent."""
    common = told = common_delexicalized = 0
    for dialogue in fold().dialogues.values():
        said = predicted_acts(policy, dialogue, database(), paper_compatible=paper_compatible)
        for acts, exchange in zip(said, dialogue.exchanges, strict=True):
            gold = exchange.system.acts
            common += len(set(acts) & set(gold))
            common_delexicalized += len(set(delexicalized(acts)) & set(delexicalized(gold)))
            told += len(acts) + len(gold)
    return 200 * common / told, 200 * common_delexicalized / told


def test_policy_matches_golden_scores_and_paper_mode_scores_lower(
    trained: SlPolicy,
) -> None:
    corrected = scores(trained, paper_compatible=False)
    golden = figures()["sl_policy_trained_on_val"]["clean_db"]["terminated_correct"]["overall"]
    assert corrected == pytest.approx((100 * golden["f1"], 100 * golden["delex_f1"]), abs=1.5)
    as_in_the_paper = scores(trained, paper_compatible=True)
    assert as_in_the_paper[0] < corrected[0] - 3
    assert as_in_the_paper[1] < corrected[1] - 6


def test_paper_compatible_mode_marks_all_turns_from_the_third_as_last() -> None:
    dialogue = next(d for d in fold().dialogues.values() if len(d.exchanges) > 4)
    turns = list(policy_turns(dialogue, database(), vocabulary()))
    paper = list(policy_turns(dialogue, database(), vocabulary(), paper_compatible=True))
    (flag,) = set(paper[2].situation) - set(turns[2].situation)
    ends = [[flag in turn.situation for turn in sequence] for sequence in (turns, paper)]
    last = len(dialogue.exchanges) - 1
    assert ends[0] == [number == last for number in range(last + 1)]
    assert ends[1] == [number >= 2 for number in range(last + 1)]


def test_policy_finish_rates_match_the_golden_simulation(trained: SlPolicy) -> None:
    setting = Setting(database(), partial(SlSystem, trained))
    summary = simulate(setting, per_type=100, seed=1, progress=False)
    for code, rate in summary.by_type.items():
        expected = FINISHED[code]
        # Three standard errors of the difference between 100 and 300 dialogues.
        error = (expected * (1 - expected) * (1 / 100 + 1 / 300)) ** 0.5
        assert rate.finish_rate == pytest.approx(expected, abs=3 * error), code
    finished = [summary.by_type[code].finish_rate or 0 for code in ("S", "M", "CM")]
    assert finished == sorted(finished, reverse=True)
    golden = figures()["da_simulation_val_trained"]["clean_db"]["finish"]
    assert summary.macro == pytest.approx(sum(golden.values()) / len(golden), abs=0.08)


def test_saved_policy_can_be_loaded(tmp_path: Path, trained: SlPolicy) -> None:
    trained.save(tmp_path / "policy.safetensors")
    for place in (tmp_path, tmp_path / "policy.safetensors"):
        loaded = SlPolicy.load(place)
        assert loaded.vocabulary.system == trained.vocabulary.system
        situations = [[1, 2, 300], [5, 323], []]
        assert loaded.acts(situations) == trained.acts(situations)
