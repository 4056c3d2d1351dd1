"""Where the corpus is found, its texts and acts in comparable form, and its statistics."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from mwzeval.crosswoz import NAME
from mwzeval.crosswoz.corpus.acts import Act
from mwzeval.crosswoz.corpus.folds import (
    CONVLAB2,
    PUBLIC_FILES,
    RELEASE,
    SAMPLE,
    TABLES,
    corpus_root,
    load_gold,
)
from mwzeval.crosswoz.corpus.names import GOAL_TYPES, TRAFFIC_DOMAINS
from mwzeval.crosswoz.corpus.normalization import comparable, comparable_text
from mwzeval.crosswoz.corpus.ontology import ACT_SLOTS
from mwzeval.crosswoz.corpus.paper_figures import OF_CORPUS, OF_DATABASE
from mwzeval.crosswoz.corpus.statistics import corpus_statistics, database_statistics
from mwzeval.crosswoz.corpus.statistics_table import fold_statistics, statistics_document
from mwzeval.errors import DataError
from mwzeval.files.downloads import embedded, public_files, state_of
from mwzeval.report.formats import to_text
from tests.crosswoz.real_data import figures, fold, paper, plain_dialogues
from tests.crosswoz.small_world import DEPENDENT, SINGLE, small_gold, write_world
from tests.crosswoz.small_world import TABLES as TOWN
from tests.places import shared

SMALL_COUNTS = [8, 8, 8]
"""Slots, values and slot values of the small world, counted by hand."""
NAMES = {
    "dialogues": "dialogues",
    "turns": "turns",
    "tokens": "tokens_jieba",
    "vocabulary": "vocab_jieba",
    "subgoals": "avg_subgoals",
    "semantic_tuples": "avg_sts_goal",
    "turns_a_dialogue": "avg_turns",
    "tokens_a_turn": "avg_tokens_jieba",
    "acts_a_turn": "avg_acts",
    "no_offer_rate": "nooffer_rate",
    "multi_query_rate": "multi_query_nosel",
    "goal_change_rate": "goal_change_rate",
}


@pytest.mark.integration
@pytest.mark.parametrize("name", ["val", "test"])
def test_statistics_are_the_golden_ones(name: str) -> None:
    golden = figures()["corpus_statistics"][name]
    found = corpus_statistics(fold(name).dialogues.values())
    assert set(found) == set(golden)
    for scope, of_scope in found.items():
        for ours, theirs in NAMES.items():
            value = getattr(of_scope, ours)
            assert value == pytest.approx(golden[scope][theirs], abs=1e-12), (scope, ours)


@pytest.mark.integration
@pytest.mark.parametrize("name", ["val", "test"])
def test_slots_and_values_are_those_of_a_count_over_the_plain_file(name: str) -> None:
    said = [
        (domain, slot, value)
        for dialogue in plain_dialogues(name).values()
        for message in dialogue["messages"]
        for intent, domain, slot, value in message["dialog_act"]
        if intent in ("Inform", "Request", "Recommend")
    ]
    found = corpus_statistics(fold(name).dialogues.values())["all"]
    assert found.slots == len({(domain, slot) for domain, slot, _ in said}) == 72
    assert found.values == len({value for *_, value in said} - {""})
    assert found.slot_values == len({each for each in said if each[2]})


@pytest.mark.integration
def test_the_database_is_that_of_table_3() -> None:
    published = paper()["table3_database"]
    recomputed = published["recomputed_from_database"]
    for domain, of in database_statistics(fold().tables).items():
        name = TABLES[domain]
        assert of.entities == published["entities"][name]
        services = f"+{of.services} ({of.services} binary services)" if of.services else ""
        assert f"{of.slots}{services}" == str(published["slots"][name])
        for near in ("attractions", "restaurants", "hotels"):
            mean = recomputed[f"avg_nearby_{near}"][name]
            assert getattr(of, f"nearby_{near}") == pytest.approx(mean, abs=5e-4)


@pytest.mark.integration
def test_the_slots_of_all_domains_are_those_of_table_1() -> None:
    of_venues = database_statistics(fold().tables).values()
    of_traffic = len([slot for domain in TRAFFIC_DOMAINS for slot in ACT_SLOTS[domain]])
    assert sum(each.slots + each.services for each in of_venues) + of_traffic == 72


PAPER_NAMES = {
    **{name: name for name in ("dialogues", "turns", "tokens", "multi_query_rate")},
    "vocabulary": "vocab",
    "subgoals": "avg_subgoals",
    "semantic_tuples": "avg_semantic_tuples",
    "turns_a_dialogue": "avg_turns",
    "tokens_a_turn": "avg_tokens_per_turn",
    "acts_a_turn": "avg_dialogue_acts",
    "no_offer_rate": "nooffer_rate",
    "goal_change_rate": "goal_change_rate",
}


@pytest.mark.integration
def test_the_figures_of_the_paper_are_the_printed_ones() -> None:
    tables = paper()
    for fold_name, column in (("train", "train"), ("val", "valid"), ("test", "test")):
        of_fold = OF_CORPUS[fold_name]["all"]
        by_name = {PAPER_NAMES.get(name): figure for name, figure in of_fold.items()}
        assert by_name.items() >= tables["table6_splits"][column].items()
    assert OF_CORPUS["train"]["all"]["slots"] == first_table(tables, "slots")
    assert OF_CORPUS["train"]["all"]["values"] == first_table(tables, "values")
    for goal_type in GOAL_TYPES:
        for name, figure in OF_CORPUS["train"][goal_type].items():
            printed = tables["table7_train_by_goal_type"][PAPER_NAMES[name]]
            assert figure == printed[goal_type], (goal_type, name)
    for domain, figures_of in OF_DATABASE.items():
        for name, figure in figures_of.items():
            if name.startswith("nearby"):
                assert figure == tables["table3_database"][f"avg_{name}"][TABLES[domain]]


def first_table(tables: Any, name: str) -> int:
    figure: int = tables["table1_corpora_training_sets"][name]["CrossWOZ"]
    return figure


def test_a_table_names_whose_figures_stand_beneath() -> None:
    counted = fold_statistics(small_gold().fold)
    head, *lines = to_text(statistics_document(counted)).splitlines()
    assert head.split() == ["test", "all", "S", "CM"]
    paper_of = {
        line.split()[0]: below.rsplit("  ", 1)[0].strip()
        for line, below in pairwise(lines)
        if below.startswith("  paper")
    }
    assert paper_of["turns"] == "paper"
    assert paper_of["values"] == "paper, train"
    assert counted["paper"]["train"]["all"]["values"] == 7871
    assert [counted["all"][name] for name in ("slots", "values", "slot_values")] == SMALL_COUNTS
    assert counted["database"]["attraction"]["nearby_restaurants"] == 1.0


def test_an_invented_town_stands_beside_no_paper() -> None:
    counted = fold_statistics(replace(small_gold().fold, revision=SAMPLE))
    assert "paper" not in counted
    assert "paper" not in to_text(statistics_document(counted))


def test_a_venue_with_a_blank_service_does_not_have_it() -> None:
    hotel = ["客栈", {"名称": "客栈", "酒店设施": ["暖气", "  "], "周边酒店": [], "地铁": "东站"}]
    found = database_statistics({**TOWN, "酒店": [hotel]})["酒店"]
    assert (found.entities, found.slots, found.services) == (1, 1, 1)


@pytest.mark.integration
def test_every_public_file_that_is_at_hand_is_the_published_one() -> None:
    root = corpus_root(data=shared("data", "crosswoz"))
    states = {file.local: state_of(root, file) for file in root.published}
    assert "different" not in states.values()
    there = {local for local, state in states.items() if state == "published"}
    assert {"crosswoz/test.json.zip", "convlab2_revision/test.json.zip"} < there
    assert {local for local in states if "train" in local} == {
        "crosswoz/train.json.zip",
        "convlab2_revision/train.json.zip",
    }
    listed = shared("data", "crosswoz", "public_files.tsv").read_text("utf-8").splitlines()[1:]
    blobs = {line.split("\t")[3] for line in listed}
    assert {file.git_blob for file in root.published} == blobs


def test_the_list_of_public_files_is_embedded() -> None:
    assert len(public_files(embedded(NAME, PUBLIC_FILES))) == 18


@pytest.mark.integration
@pytest.mark.parametrize("revision", [RELEASE, CONVLAB2])
@pytest.mark.parametrize("place", [("data", "crosswoz"), ("data",)])
def test_both_revisions_are_found_in_their_folder_and_beside_other_benchmarks(
    revision: str, place: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MWZEVAL_DATA", str(shared(*place)))
    root = corpus_root(revision)
    assert (root.path, root.origin) == (shared("data", "crosswoz"), "MWZEVAL_DATA")


@pytest.mark.integration
def test_a_fold_is_loaded_with_what_is_known_beside_it() -> None:
    gold = load_gold(data=shared("data"))
    assert len(gold.fold.dialogues) == 500
    assert gold.system_vocabulary is not None
    assert len(gold.system_vocabulary) == 155
    assert list(gold.other_folds) == ["val"]
    assert len(gold.other_folds["val"]) == 500
    assert not gold.other_folds["val"] & gold.fold.dialogues.keys()


def test_a_user_may_have_a_corpus_of_her_own(tmp_path: Path) -> None:
    gold = load_gold(data=write_world(tmp_path))
    assert list(gold.fold.dialogues) == ["1", "2"]
    assert gold.system_vocabulary is None
    assert gold.database.named("景点", "小园") is not None


@pytest.mark.integration
def test_a_fold_that_is_another_one_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "crosswoz"
    shutil.copytree(shared("data", "crosswoz", "crosswoz", "database"), folder / "database")
    shutil.copy(shared("data", "crosswoz", "crosswoz", "val.json.zip"), folder / "val.json.zip")
    # The archive's member keeps its name; a user renames both.
    content = shared("data", "crosswoz", "crosswoz", "val.json.zip").read_bytes()
    (folder / "test.json.zip").write_bytes(content)
    with pytest.raises(DataError, match=r"crosswoz/val\.json\.zip"):
        load_gold(data=tmp_path)


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (json.dumps({"1": DEPENDENT}, ensure_ascii=False).encode("gbk"), "GBK"),
        (b"{", ""),
        (b"[]", ""),
        (b'{"1": {"type": "?"}}', 'dialogue "1": type'),
        (json.dumps({"1": {**SINGLE, "messages": []}}).encode(), '"1": messages'),
    ],
)
def test_a_damaged_fold_is_refused(tmp_path: Path, content: bytes, place: str) -> None:
    with pytest.raises(DataError, match=rf"test\.json.*{place}"):
        load_gold(data=write_world(tmp_path, content))


def test_a_missing_fold_names_its_address(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"githubusercontent.*test\.json\.zip"):
        load_gold(data=tmp_path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("WiFi Hotel", "wifihotel"),
        ("北京BHG店", "北京bhg店"),
        ("北京 ＢＨＧ 店", "北京bhg店"),
        ("（Ａ店）", "(a店)"),
        ("Élysée\u3000酒店", "élysée酒店"),
        ("", ""),
    ],
)
def test_texts_are_compared_in_one_width_and_case(text: str, expected: str) -> None:
    assert comparable_text(text) == expected


def test_acts_are_compared_by_slot_and_value_so() -> None:
    ours = comparable(Act("Inform", "酒店", "酒店设施-ＳＰＡ", "北京 ABC酒店"))
    assert ours == comparable(Act("Inform", "酒店", "酒店设施-spa", "北京abc酒店"))
