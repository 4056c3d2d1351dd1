"""The embedded samples are as their generators write them, and sound as corpora."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest

from mwzeval.crosswoz.corpus.database import Database
from mwzeval.crosswoz.corpus.folds import SAMPLE, Fold, corpus_root, load_fold, load_gold
from mwzeval.crosswoz.corpus.names import GOAL_TYPES, NAME, VENUE_DOMAINS
from mwzeval.crosswoz.scoring.evaluation import evaluate
from mwzeval.crosswoz.scoring.success import judge
from mwzeval.crosswoz.simulation.goals import goal_type
from mwzeval.crosswoz.systems.policy_vector import load_vocabulary
from tests.crosswoz import real_data
from tests.places import ROOT
from tools.samples.__main__ import SAMPLES, differences

DOMAINS = ("restaurant", "hotel", "attraction", "train", "taxi")
FOLDS = {"train": 10, "dev": 10, "test": 62}


@pytest.mark.integration
@pytest.mark.parametrize("name", SAMPLES)
def test_generating_again_gives_the_committed_bytes(name: str) -> None:
    assert differences(name) == []


@cache
def read(path: str) -> Any:
    return json.loads((ROOT / "data" / "sample" / path).read_text(encoding="utf-8"))


def old() -> dict[str, Any]:
    return dict(read("data/MultiWOZ_2.1/data.json"))


def new(fold: str) -> list[dict[str, Any]]:
    return list(read(f"data/MultiWOZ_2.2/{fold}/dialogues_001.json"))


def states(dialogue: Mapping[str, Any]) -> list[dict[str, str]]:
    """The 2.2 states, one per user turn: slot name with its domain, first value."""
    return [
        {s: v[0] for frame in turn["frames"] for s, v in frame["state"]["slot_values"].items()}
        for turn in dialogue["turns"]
        if turn["speaker"] == "USER"
    ]


def test_folds_of_multiwoz_and_their_lists() -> None:
    members = {fold: [d["dialogue_id"] for d in new(fold)] for fold in FOLDS}
    assert {fold: len(names) for fold, names in members.items()} == FOLDS
    assert list(old()) == [name for names in members.values() for name in names]
    assert all(re.fullmatch(r"SMP\d{4}\.json", name) for name in old())
    for fold, name in (("test", "testListFile.txt"), ("dev", "valListFile.txt")):
        listed = (ROOT / "data/sample/data/MultiWOZ_2.1" / name).read_text().split()
        assert listed == members[fold]


def test_no_name_of_a_venue_contains_another() -> None:
    # Names are compared loosely in evaluation; a name within a name would match both.
    for domain in DOMAINS[:3]:
        names = [row["name"] for row in read(f"db/{domain}_db.json")]
        assert not [(a, b) for a in names for b in names if a != b and a in b]


def test_character_spans_are_values() -> None:
    acts = read("data/MultiWOZ_2.2/dialog_acts.json")
    count = 0
    for dialogue in (dialogue for fold in FOLDS for dialogue in new(fold)):
        for turn in dialogue["turns"]:
            annotation = acts[dialogue["dialogue_id"]][turn["turn_id"]]
            for act, slot, value, start, end in annotation["span_info"]:
                assert turn["utterance"][start:end] == value
                assert act in annotation["dialog_act"]
                assert slot == slot.lower()
                count += 1
            for span in (span for frame in turn["frames"] for span in frame["slots"]):
                part = turn["utterance"][span["start"] : span["exclusive_end"]]
                assert part == span["value"]
    assert count > 1200


def test_both_versions_have_the_same_states_and_domains() -> None:
    for dialogue in (dialogue for fold in FOLDS for dialogue in new(fold)):
        log, goal = (old()[dialogue["dialogue_id"]][part] for part in ("log", "goal"))
        older = []
        for turn in log[1::2]:
            state: dict[str, Any] = {}
            for domain, parts in turn["metadata"].items():
                state |= {f"{domain}-{slot.lower()}": v for slot, v in parts["semi"].items()}
                state |= {f"{domain}-book{slot}": v for slot, v in parts["book"].items()}
                del state[f"{domain}-bookbooked"]
            older.append({s: v for s, v in state.items() if v not in ("", "not mentioned")})
        assert older == states(dialogue)
        domains = {domain for domain in DOMAINS if goal[domain]}
        assert domains == set(dialogue["services"])
        assert domains == {slot.split("-")[0] for slot in older[-1]}


def test_goals_of_multiwoz_can_be_satisfied_but_not_the_first_ones() -> None:
    def fits(row: Mapping[str, Any], slot: str, value: str) -> bool:
        # Times have the form "HH:MM", so that they are ordered as texts.
        if slot in ("leaveAt", "arriveBy"):
            return bool(row[slot] >= value if slot == "leaveAt" else row[slot] <= value)
        return row[slot] in (value, "?")

    for dialogue in old().values():
        for domain in DOMAINS[:4]:
            goal, rows = dialogue["goal"][domain], read(f"db/{domain}_db.json")
            for kind in ("info", "fail_info"):
                wishes = goal.get(kind)
                if wishes:
                    found = any(all(fits(row, *wish) for wish in wishes.items()) for row in rows)
                    assert found == (kind == "info")


@cache
def fold(name: str = "test") -> Fold:
    return load_fold(corpus_root(SAMPLE), name, SAMPLE)


def test_dialogues_of_crosswoz() -> None:
    database, vocabulary = Database(fold().tables), load_vocabulary(corpus_root(SAMPLE))
    for name, per_type in (("test", 8), ("val", 4)):
        dialogues = fold(name).dialogues.values()
        assert Counter(d.goal_type for d in dialogues) == dict.fromkeys(GOAL_TYPES, per_type)
        successes = 0
        for dialogue in dialogues:
            assert goal_type(dialogue.goal) == dialogue.goal_type
            assert dialogue.final_goal == dialogue.exchanges[-1].user.state
            assert all(line.done for line in dialogue.final_goal)
            successes += judge(dialogue.goal, dialogue.final_goal, database).success
            for exchange in dialogue.exchanges:
                user, system = exchange.user, exchange.system
                assert list(user.acts) == sorted(set(user.acts))
                assert [line[:3] for line in user.state] == [line[:3] for line in dialogue.goal]
                assert len(vocabulary.actions(system.acts)) == len(system.acts)
                for domain in VENUE_DOMAINS:
                    for selected in (system.first_selected, system.last_selected):
                        assert all(database.named(domain, venue) for venue in selected[domain])
        assert successes >= 0.9 * len(dialogues)


@pytest.mark.integration
def test_no_venue_of_crosswoz_is_a_real_one() -> None:
    for domain in VENUE_DOMAINS:
        for entity in Database(fold().tables).entities(domain):
            for real in VENUE_DOMAINS:
                assert not real_data.database().query(real, {NAME: entity.name}), entity.name


@pytest.mark.integration
@pytest.mark.parametrize("track", ["nlu", "dst", "policy", "nlg", "sim", "e2e"])
def test_example_predictions_of_crosswoz_are_scored_without_a_warning(track: str) -> None:
    path = ROOT / "predictions" / f"crosswoz-sample-{track}.json"
    evaluated = evaluate(str(path), load_gold(SAMPLE))
    assert not evaluated.warnings
    assert any(0 < score.value < 100 for score in evaluated.report().scores if score.value)
