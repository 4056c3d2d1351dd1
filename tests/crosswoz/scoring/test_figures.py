"""Predictions of the rule systems get the figures of the paper and of the golden runs."""

from __future__ import annotations

import json
from functools import cache
from statistics import mean

import pytest

from mwzeval.comparison.runs import scores_of_runs
from mwzeval.crosswoz.corpus.folds import Gold
from mwzeval.crosswoz.corpus.names import GOAL_TYPES
from mwzeval.crosswoz.scoring.baselines import gold_file, rule_tracker_file, simulator_file
from mwzeval.crosswoz.scoring.evaluation import ScoredPredictions, evaluate
from mwzeval.crosswoz.tracks import GOLD_ACTS, GOLD_PREVIOUS_STATE
from tests.crosswoz.real_data import figures, fold
from tests.places import shared

pytestmark = pytest.mark.integration

SCOPES = {"overall": "total", **{kind: kind for kind in GOAL_TYPES}}


@cache
def gold(name: str = "test", revision: str = "release") -> Gold:
    vocabulary = json.loads(shared("data", "crosswoz", "extra", "sys_da_voc.json").read_bytes())
    return Gold(fold(name, revision), system_vocabulary=frozenset(vocabulary))


def values(evaluated: ScoredPredictions) -> dict[tuple[str, str], float]:
    return {(s.name, s.scope): s.value for s in evaluated.report().scores}


@cache
def tracked(name: str, revision: str, conditioning: str) -> ScoredPredictions:
    data = gold(name, revision)
    return evaluate(rule_tracker_file(data.fold, conditioning), data)


@pytest.mark.parametrize("name", ["test", "val"])
@pytest.mark.parametrize(("revision", "key"), [("release", "src"), ("convlab2", "clab2")])
@pytest.mark.parametrize(
    ("conditioning", "variant", "joint"),
    [
        (GOLD_PREVIOUS_STATE, "paper", "dst.joint_single_turn"),
        (GOLD_ACTS, "free", "dst.joint_full"),
    ],
)
def test_rule_tracker_scores_match_the_golden_figures(
    name: str, revision: str, key: str, conditioning: str, variant: str, joint: str
) -> None:
    golden = figures()["rule_dst"][f"{key}/{name}/{variant}"]
    evaluated = tracked(name, revision, conditioning)
    found = values(evaluated)
    for theirs, ours in {**SCOPES, "select_turns": "Select turns"}.items():
        assert found[joint, ours] == pytest.approx(100 * golden[theirs], abs=1e-10)
    sums = evaluated.scored_table.table.sums()
    right, predicted, wanted = (
        sums[f"dst.slots_{k}@total"] for k in ("right", "predicted", "gold")
    )
    assert [right, predicted - right, wanted - right] == golden["slot_prf_counts"]
    assert found["dst.slot_f1", "total"] == pytest.approx(100 * golden["slot_f1"], abs=1e-10)
    assert sums["dst.turns@total"] == golden["turns"]
    assert sums["dst.turns@Select turns"] == golden["n_select_turns"]


def test_rule_tracker_reproduces_the_published_figures() -> None:
    found = values(tracked("test", "release", GOLD_PREVIOUS_STATE))
    row = [f"{found['dst.joint_single_turn', scope]:.2f}" for scope in SCOPES.values()]
    assert row == ["71.33", "84.17", "78.17", "81.93", "63.38", "67.86"]
    assert f"{found['dst.joint_single_turn', 'Select turns']:.2f}" == "11.56"
    assert f"{values(tracked('test', 'release', GOLD_ACTS))['dst.joint_full', 'total']:.2f}" == (
        "27.37"
    )


@pytest.mark.parametrize("name", ["test", "val"])
def test_lenient_variants_and_copied_states_match_the_golden_figures(name: str) -> None:
    golden = figures()["rule_dst_lenient_variants"][name]
    copied = figures()["rule_dst"][f"src/{name}/copy_previous_baseline"]["overall"]
    found = values(tracked(name, "release", GOLD_PREVIOUS_STATE))
    joint = "dst.joint_single_turn"
    for score, share in (
        (joint, golden["strict"]),
        (f"{joint}_normalised", golden["normalised_values"]),
        (f"{joint}_name_lenient", golden["normalised_name_lenient_selectedResults"]),
        (f"copy_previous.{joint}", copied),
        (f"gold.{joint}", 1),
    ):
        assert found[score, "total"] == pytest.approx(100 * share, abs=1e-10)


def test_same_turn_source_variant_matches_the_golden_figures() -> None:
    golden = figures()["rule_dst_select_fix_variants(test, not in paper)"]["name+clear+noname"]
    found = values(evaluate(rule_tracker_file(gold().fold, source_in_turn=True), gold()))
    for theirs, ours in (("overall", "total"), ("select_turns", "Select turns")):
        expected = pytest.approx(100 * golden[theirs], abs=1e-10)
        assert found["dst.joint_single_turn", ours] == expected


def test_policy_upper_bound_matches_the_golden_figures() -> None:
    clean = figures()["sl_policy_trained_on_val"]["clean_db"]["terminated_correct"]
    golden = clean["oracle_gold_delex_lexicalised"]
    data = gold()
    plain = gold_file(data.fold, "policy", ["system_acts"])
    beside = values(evaluate(plain, data))
    assert beside["policy.f1", "total"] == beside["policy.f1_delex", "total"] == 100
    # A file with delexicalized acts has the same scores.
    vocabulary = data.system_vocabulary or frozenset()
    for name, exchanges in plain.items():
        for exchange in exchanges if name != "_meta" else ():
            exchange["system_acts_delex"] = _known(exchange.pop("system_acts"), vocabulary)
    found = values(evaluate(plain, data))
    for score, key in (("policy.f1", "f1"), ("policy.f1_delex", "delex_f1")):
        for theirs, ours in SCOPES.items():
            expected = pytest.approx(100 * golden[theirs][key], abs=1e-10)
            assert found[score, ours] == expected
        assert beside[f"ceiling.{score}", "total"] == found[score, "total"]


def _known(acts: list[list[str]], vocabulary: frozenset[str]) -> list[str]:
    """Replace the values of acts with numbers, as in the policy's vocabulary."""
    spelled, seen = [], []
    for intent, domain, slot, value in acts:
        if intent in ("Inform", "Recommend"):
            seen.append((intent, domain, slot))
            value = str(seen.count((intent, domain, slot)))
        spelled.append(f"{intent}+{domain}+{slot}+{value}")
    return [act for act in spelled if act in vocabulary]


@pytest.mark.parametrize("seeds", [3, pytest.param(30, marks=pytest.mark.slow)])
def test_user_simulator_scores_match_the_golden_runs(seeds: int) -> None:
    data = gold()
    runs = {
        str(seed): evaluate(simulator_file(data.fold, seed), data).scored_table
        for seed in range(seeds)
    }
    scores = {(score.name, score.scope): score for score in scores_of_runs(runs)}
    golden = figures()["rule_simulator"]["src/test/fresh_goal_each_turn"]
    for theirs, ours in SCOPES.items():
        for name, key in (("joint", "joint"), ("joint_values", "joint_valonly"), ("f1", "act_f1")):
            run = golden[theirs][key]
            # Four standard errors of the difference of two means; the golden mean is over 30 seeds.
            tolerance = 4 * 100 * run["sd"] * (1 / seeds + 1 / 30) ** 0.5
            found = scores[f"sim.{name}", ours]
            assert found.value == pytest.approx(100 * run["mean"], abs=tolerance), (name, ours)
    assert 0 < scores["sim.joint", "total"].sd < 1.5


def test_gold_nlu_predictions_score_100_in_all_scopes() -> None:
    data = gold()
    evaluated = evaluate(gold_file(data.fold, "nlu", ["user_acts", "system_acts_nlu"]), data)
    found = values(evaluated)
    assert {value for (name, _), value in found.items() if name == "nlu.f1"} == {100}
    scopes = {scope for name, scope in found if name == "nlu.f1"}
    assert {"S", "CM+T", "Inform", "Select", "NoOffer", "地铁", "user", "system"} < scopes
    sums = evaluated.scored_table.table.sums()
    # Counts of the test fold from section 1 of the specification.
    golden = {"Request": 3941, "Select": 225, "Recommend": 628, "NoOffer": 230}
    assert {intent: sums[f"nlu.gold@{intent}"] for intent in golden} == golden
    assert sums["nlu.gold@Inform"] == 4151 + 6311
    assert sums["nlu.gold@General"] == 1079 + 543


def test_corpus_dialogues_have_the_measured_success_rate() -> None:
    data = gold()
    by_acts = gold_file(data.fold, "e2e", ["response", "state", "selected", "system_acts"])
    by_text = gold_file(data.fold, "e2e", ["response", "state", "selected"])
    acts, text = values(evaluate(by_acts, data)), values(evaluate(by_text, data))
    # A measured value; it is below 100 % because of wizards' errors and missing nearby venues.
    assert acts["e2e.success", "total"] == pytest.approx(66.4)
    # The scores from text agree with the scores from acts.
    assert abs(acts["e2e.inform", "total"] - text["e2e.inform", "total"]) < 1
    assert abs(acts["e2e.success", "total"] - text["e2e.success", "total"]) < 1
    assert mean([acts["e2e.success", kind] for kind in GOAL_TYPES]) > 60
