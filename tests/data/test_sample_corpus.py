"""The embedded sample corpus is what its generator writes, and is sound as a corpus."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "data" / "sample"
SEARCHED = ("restaurant", "hotel", "attraction", "train")
DOMAINS = (*SEARCHED, "taxi")
SYSTEMS = ("good", "weak-tracker", "no-phone", "policy-only", "lexicalized")
FOLDS = {"train": 10, "dev": 10, "test": 62}


def read(path: str) -> Any:
    return json.loads((ROOT / path).read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def database() -> dict[str, list[dict[str, Any]]]:
    services = (*DOMAINS, "police", "hospital")
    return {service: read(f"data/sample/db/{service}_db.json") for service in services}


@pytest.fixture(scope="module")
def old() -> dict[str, Any]:
    data: dict[str, Any] = read("data/sample/data/MultiWOZ_2.1/data.json")
    return data


@pytest.fixture(scope="module")
def folds() -> dict[str, list[Any]]:
    base = "data/sample/data/MultiWOZ_2.2"
    return {fold: read(f"{base}/{fold}/dialogues_001.json") for fold in FOLDS}


@pytest.fixture(scope="module")
def new(folds: dict[str, list[Any]]) -> dict[str, Any]:
    return {d["dialogue_id"]: d for fold in folds.values() for d in fold}


@pytest.fixture(scope="module")
def acts() -> dict[str, Any]:
    data: dict[str, Any] = read("data/sample/data/MultiWOZ_2.2/dialog_acts.json")
    return data


def goals(old: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for identity, dialogue in old.items():
        for domain in DOMAINS:
            if dialogue["goal"][domain]:
                yield identity, domain, dialogue["goal"][domain]


def states(dialogue: dict[str, Any]) -> list[dict[str, str]]:
    """The 2.2 states, one per user turn: slot name with its domain, first value."""
    return [
        {s: v[0] for frame in turn["frames"] for s, v in frame["state"]["slot_values"].items()}
        for turn in dialogue["turns"]
        if turn["speaker"] == "USER"
    ]


def satisfying(rows: list[dict[str, Any]], constraints: dict[str, str]) -> list[dict[str, Any]]:
    """Search by brute force; times are "HH:MM", so they compare as text."""

    def fits(row: dict[str, Any], slot: str, value: str) -> bool:
        if slot == "leaveAt":
            return bool(row[slot] >= value)
        if slot == "arriveBy":
            return bool(row[slot] <= value)
        return row[slot] in (value, "?")

    return [row for row in rows if all(fits(row, s, v) for s, v in constraints.items())]


def test_no_venue_name_contains_another(database: dict[str, list[dict[str, Any]]]) -> None:
    # Names are compared loosely in evaluation; a name within a name would match both.
    for domain in ("restaurant", "attraction", "hotel"):
        names = [row["name"] for row in database[domain]]
        assert not [(a, b) for a in names for b in names if a != b and a in b]


def test_folds_and_their_lists_agree(old: dict[str, Any], folds: dict[str, list[Any]]) -> None:
    members = {fold: [d["dialogue_id"] for d in dialogues] for fold, dialogues in folds.items()}
    assert {fold: len(names) for fold, names in members.items()} == FOLDS
    assert sorted(old) == sorted(name for names in members.values() for name in names)
    for fold, name in (("test", "testListFile.txt"), ("dev", "valListFile.txt")):
        listed = (SAMPLE / "data" / "MultiWOZ_2.1" / name).read_text().split()
        assert listed == members[fold]


def test_identities_cannot_be_taken_for_multiwoz(old: dict[str, Any]) -> None:
    real = re.compile(r"(mul|pmul|sng|ssng|wozs)", re.IGNORECASE)
    assert not [identity for identity in old if real.search(identity)]
    assert all(re.fullmatch(r"SMP\d{4}\.json", identity) for identity in old)


def test_character_spans_are_where_they_say(new: dict[str, Any], acts: dict[str, Any]) -> None:
    assert sorted(acts) == sorted(new)
    count = 0
    for identity, dialogue in new.items():
        assert list(acts[identity]) == [turn["turn_id"] for turn in dialogue["turns"]]
        for turn in dialogue["turns"]:
            for act, slot, value, start, end in acts[identity][turn["turn_id"]]["span_info"]:
                assert turn["utterance"][start:end] == value
                assert act in acts[identity][turn["turn_id"]]["dialog_act"]
                assert slot == slot.lower()
                count += 1
            for frame in turn["frames"]:
                for span in frame["slots"]:
                    part = turn["utterance"][span["start"] : span["exclusive_end"]]
                    assert part == span["value"]
    assert count > 1200


def test_both_versions_hold_the_same_states(old: dict[str, Any], new: dict[str, Any]) -> None:
    for identity, dialogue in old.items():
        metadata = [turn["metadata"] for turn in dialogue["log"][1::2]]
        older = []
        for annotation in metadata:
            state = {}
            for domain, parts in annotation.items():
                for slot, value in parts["semi"].items():
                    state[f"{domain}-{slot.lower()}"] = value
                for slot, value in parts["book"].items():
                    if slot != "booked":
                        state[f"{domain}-book{slot}"] = value
            older.append({s: v for s, v in state.items() if v not in ("", "not mentioned")})
        assert older == states(new[identity])


def test_both_versions_hold_the_same_domains(old: dict[str, Any], new: dict[str, Any]) -> None:
    for identity, dialogue in old.items():
        wanted = {domain for domain in DOMAINS if dialogue["goal"][domain]}
        assert set(new[identity]["services"]) == wanted
        assert {slot.split("-")[0] for slot in states(new[identity])[-1]} == wanted


def test_every_goal_can_be_satisfied(
    old: dict[str, Any], database: dict[str, list[dict[str, Any]]]
) -> None:
    for identity, domain, goal in goals(old):
        if domain in SEARCHED:
            assert satisfying(database[domain], goal["info"]), identity
            if goal["fail_info"]:
                assert not satisfying(database[domain], goal["fail_info"]), identity


@pytest.mark.parametrize("system", SYSTEMS)
def test_predictions_answer_every_turn_of_the_test_fold(
    folds: dict[str, list[Any]], system: str
) -> None:
    predictions = read(f"predictions/sample-{system}.json")
    turns = {d["dialogue_id"][:7].lower(): len(d["turns"]) // 2 for d in folds["test"]}
    assert {identity: len(answers) for identity, answers in predictions.items()} == turns
    answers = [answer for dialogue in predictions.values() for answer in dialogue]
    assert all(answer["response"].strip() for answer in answers)
    keys = {"response"}
    keys |= set() if system == "policy-only" else {"state"}
    keys |= set() if system == "weak-tracker" else {"active_domains"}
    assert all(set(answer) == keys for answer in answers)
