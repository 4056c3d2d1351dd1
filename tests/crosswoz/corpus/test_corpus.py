"""Locating the corpus, text normalisation, statistics and database queries."""

from __future__ import annotations

import hashlib
import json
import pickle
import shutil
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.crosswoz.corpus.acts import Act
from mwzeval.crosswoz.corpus.database import Database
from mwzeval.crosswoz.corpus.folds import (
    CONVLAB2,
    RELEASE,
    SAMPLE,
    corpus_root,
    load_gold,
)
from mwzeval.crosswoz.corpus.names import (
    GOAL_TYPES,
    HOTEL,
    METRO,
    RESTAURANT,
    TAXI,
    TRAFFIC_DOMAINS,
    VENUE_DOMAINS,
)
from mwzeval.crosswoz.corpus.normalization import comparable, comparable_text
from mwzeval.crosswoz.corpus.ontology import ACT_SLOTS
from mwzeval.crosswoz.corpus.statistics import (
    PAPER,
    PAPER_DATABASE,
    corpus_statistics,
    database_statistics,
    fold_statistics,
)
from mwzeval.errors import DataError
from mwzeval.scores.sheets import to_text
from tests.crosswoz.real_data import database, figures, fold, paper, plain_dialogues, vectors
from tests.crosswoz.small_world import DEPENDENT, SINGLE, small_gold, write_world
from tests.crosswoz.small_world import TABLES as TOWN
from tests.places import shared

NAMES = {
    **{name: name for name in ("dialogues", "turns", "goal_change_rate")},
    "tokens": "tokens_jieba",
    "vocabulary": "vocab_jieba",
    "subgoals": "avg_subgoals",
    "semantic_tuples": "avg_sts_goal",
    "turns_a_dialogue": "avg_turns",
    "tokens_a_turn": "avg_tokens_jieba",
    "acts_a_turn": "avg_acts",
    "no_offer_rate": "nooffer_rate",
    "multi_query_rate": "multi_query_nosel",
}


@pytest.mark.integration
@pytest.mark.parametrize("name", ["val", "test"])
def test_corpus_statistics_match_golden_figures_and_counts_of_the_json(name: str) -> None:
    golden = figures()["corpus_statistics"][name]
    found = corpus_statistics(fold(name).dialogues.values())
    assert set(found) == set(golden)
    for scope, of_scope in found.items():
        for ours, theirs in NAMES.items():
            assert of_scope[ours] == pytest.approx(golden[scope][theirs], abs=1e-12), (scope, ours)
    items = [
        (domain, slot, value)
        for dialogue in plain_dialogues(name).values()
        for message in dialogue["messages"]
        for intent, domain, slot, value in message["dialog_act"]
        if intent in ("Inform", "Request", "Recommend")
    ]
    assert found["all"]["slots"] == len({item[:2] for item in items}) == 72
    assert found["all"]["values"] == len({value for *_, value in items} - {""})
    assert found["all"]["slot_values"] == len({item for item in items if item[2]})


@pytest.mark.integration
def test_database_statistics_match_tables_1_and_3_of_the_paper() -> None:
    published = paper()["table3_database"]
    recomputed = published["recomputed_from_database"]
    counted = database_statistics(fold().tables)
    for name, counts in counted.items():
        assert counts["entities"] == published["entities"][name]
        services = f"+{n} ({n} binary services)" if (n := counts["services"]) else ""
        assert f"{counts['slots']}{services}" == str(published["slots"][name])
        for near in ("attractions", "restaurants", "hotels"):
            mean = recomputed[f"avg_nearby_{near}"][name]
            assert counts[f"nearby_{near}"] == pytest.approx(mean, abs=5e-4)
    of_venues = sum(counts["slots"] + counts["services"] for counts in counted.values())
    assert of_venues + sum(len(ACT_SLOTS[domain]) for domain in TRAFFIC_DOMAINS) == 72


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
def test_paper_constants_match_the_published_tables() -> None:
    tables = paper()
    for fold_name, column in (("train", "train"), ("val", "valid"), ("test", "test")):
        of_fold = PAPER[fold_name]["all"]
        by_name = {PAPER_NAMES.get(name): figure for name, figure in of_fold.items()}
        assert by_name.items() >= tables["table6_splits"][column].items()
    for name in ("slots", "values"):
        printed = tables["table1_corpora_training_sets"][name]["CrossWOZ"]
        assert PAPER["train"]["all"][name] == printed
    for goal_type in GOAL_TYPES:
        for name, figure in PAPER["train"][goal_type].items():
            printed = tables["table7_train_by_goal_type"][PAPER_NAMES[name]]
            assert figure == printed[goal_type], (goal_type, name)
    for domain, figures_of in PAPER_DATABASE.items():
        for name, figure in figures_of.items():
            if name.startswith("nearby"):
                assert figure == tables["table3_database"][f"avg_{name}"][domain]


def test_statistics_table_labels_rows_with_figures_of_the_paper() -> None:
    document = fold_statistics(small_gold().fold)
    counted = document.plain
    head, *lines = to_text(document).splitlines()
    assert head.split() == ["test", "all", "S", "CM"]
    paper_of = {
        line.split()[0]: below.rsplit("  ", 1)[0].strip()
        for line, below in pairwise(lines)
        if below.startswith("  paper")
    }
    assert (paper_of["turns"], paper_of["values"]) == ("paper", "paper, train")
    assert counted["paper"]["train"]["all"]["values"] == 7871
    # These numbers were counted by hand.
    assert [counted["all"][name] for name in ("slots", "values", "slot_values")] == [8, 8, 8]
    assert counted["database"]["attraction"]["nearby_restaurants"] == 1.0
    invented = fold_statistics(replace(small_gold().fold, revision=SAMPLE))
    assert "paper" not in invented.plain
    assert "paper" not in to_text(invented)


def test_blank_hotel_services_are_not_counted() -> None:
    hotel = ["客栈", {"名称": "客栈", "酒店设施": ["暖气", "  "], "周边酒店": [], "地铁": "东站"}]
    found = database_statistics({**TOWN, "酒店": [hotel]})["hotel"]
    assert [found[name] for name in ("entities", "slots", "services")] == [1, 1, 1]


@pytest.mark.integration
def test_local_public_files_match_the_published_hashes() -> None:
    root = corpus_root(data=shared("data", "crosswoz"))
    there = {file.local for file in root.published if root.find(file.local)}
    assert root.other_than_published(root.path / local for local in there) == ()
    revisions = ("crosswoz", "convlab2_revision")
    assert {f"{folder}/test.json.zip" for folder in revisions} < there
    trains = {file.local for file in root.published if "train" in file.local}
    assert trains == {f"{folder}/train.json.zip" for folder in revisions}
    listed = shared("data", "crosswoz", "public_files.tsv").read_text("utf-8").splitlines()[1:]
    assert {file.git_blob for file in root.published} == {line.split("\t")[3] for line in listed}


@pytest.mark.integration
@pytest.mark.parametrize("revision", [RELEASE, CONVLAB2])
@pytest.mark.parametrize("place", [("data", "crosswoz"), ("data",)])
def test_both_revisions_are_found_in_their_folder_and_its_parent(
    revision: str, place: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MWZEVAL_DATA", str(shared(*place)))
    root = corpus_root(revision)
    assert (root.path, root.origin) == (shared("data", "crosswoz"), "MWZEVAL_DATA")


@pytest.mark.integration
def test_gold_includes_the_act_vocabulary_and_other_fold_ids() -> None:
    gold = load_gold(data=shared("data"))
    assert len(gold.system_vocabulary or ()) == 155
    assert list(gold.other_folds) == ["val"]
    assert len(gold.other_folds["val"]) == len(gold.fold.dialogues) == 500
    assert not gold.other_folds["val"] & gold.fold.dialogues.keys()


def test_custom_corpora_can_be_loaded(tmp_path: Path) -> None:
    gold = load_gold(data=write_world(tmp_path))
    assert list(gold.fold.dialogues) == ["1", "2"]
    assert gold.system_vocabulary is None
    assert gold.database.named("景点", "小园") is not None


@pytest.mark.integration
def test_archives_of_another_fold_are_refused(tmp_path: Path) -> None:
    published, folder = shared("data", "crosswoz", "crosswoz"), tmp_path / "crosswoz"
    shutil.copytree(published / "database", folder / "database")
    # The file inside the archive is still called val.json.
    shutil.copy(published / "val.json.zip", folder / "test.json.zip")
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


def test_missing_fold_error_gives_the_download_url(tmp_path: Path) -> None:
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
def test_text_comparison_ignores_width_case_and_blanks(text: str, expected: str) -> None:
    assert comparable_text(text) == expected


def test_act_comparison_normalises_slots_and_values() -> None:
    ours = comparable(Act("Inform", "酒店", "酒店设施-ＳＰＡ", "北京 ABC酒店"))
    assert ours == comparable(Act("Inform", "酒店", "酒店设施-spa", "北京abc酒店"))


TAXI_WITHOUT_END = "the release returns one empty item for a taxi that lacks an end"


@pytest.mark.integration
def test_database_queries_match_the_golden_vectors() -> None:
    compared = 0
    for vector in vectors("db_query"):
        names = [
            entity.name for entity in database().query(vector["domain"], vector["constraints"])
        ]
        expected = vector["result"]
        if "error" in expected:
            # The published code raises; here, a value that is not a number is no constraint.
            assert len(names) == len(database().entities(vector["domain"]))
            continue
        if expected["names"] == [None]:
            assert not names, TAXI_WITHOUT_END
            continue
        assert (len(names), names[:25]) == (expected["count"], expected["names"]), vector
        assert hashlib.sha1("\n".join(names).encode()).hexdigest() == expected["sha1_all"]
        compared += 1
    assert compared > 130


@pytest.mark.integration
def test_database_queries_are_independent_of_each_other() -> None:
    for vector in vectors("db_query_stale_bug"):
        found = database().query(vector["domain"], vector["constraints"])
        no_taxi = vector["buggy_names"] == [None]
        assert len(found) == (0 if no_taxi else vector["clean"]), (vector, TAXI_WITHOUT_END)


ROWS: dict[str, list[list[Any]]] = {
    "景点": [["园", {"名称": "园", "门票": None, "游玩时间": "1小时 - 2小时", "评分": 4.5}]],
    "餐馆": [
        ["甲", {"名称": "甲", "推荐菜": ["烤鸭", "豆腐脑"], "人均消费": 100, "评分": None}],
        ["甲乙", {"名称": "甲乙", "推荐菜": ["豆腐"], "人均消费": 150, "周边酒店": ["大酒店"]}],
    ],
    "酒店": [["大酒店", {"名称": "大酒店", "酒店设施": ["  ", "24小时热水"], "价格": 300}]],
    "地铁": [["甲", {"地铁": "一站"}], ["甲乙", {"地铁": None}]],
}


@pytest.mark.parametrize(
    ("domain", "constraints", "expected"),
    [
        ("餐馆", {}, ["甲", "甲乙"]),
        ("餐馆", {"名称": "", "评分": ""}, ["甲", "甲乙"]),
        ("餐馆", {"名称": "甲", "人均消费": "1-2元"}, ["甲", "甲乙"]),
        ("餐馆", {"名称": "乙"}, ["甲乙"]),
        ("餐馆", {"名称": "甲\0甲"}, []),
        ("餐馆", {"推荐菜": "豆腐"}, ["甲", "甲乙"]),
        ("餐馆", {"推荐菜": "豆腐 烤鸭"}, ["甲"]),
        ("餐馆", {"人均消费": "100-150元"}, ["甲", "甲乙"]),
        ("餐馆", {"人均消费": "100 - 150元"}, ["甲"]),
        ("餐馆", {"人均消费": "150元"}, ["甲乙"]),
        ("餐馆", {"人均消费": "120元以上"}, ["甲乙"]),
        ("餐馆", {"人均消费": "120元以下"}, ["甲"]),
        ("餐馆", {"人均消费": "无所谓"}, ["甲", "甲乙"]),
        ("餐馆", {"评分": "4分以上"}, []),
        ("餐馆", {"评分": "高"}, ["甲", "甲乙"]),
        ("餐馆", {"周边酒店": "酒店"}, ["甲乙"]),
        ("景点", {"门票": "免费"}, []),
        ("景点", {"评分": "4.5分"}, ["园"]),
        ("景点", {"评分": "5分"}, []),
        ("景点", {"游玩时间": "1小时"}, ["园"]),
        ("酒店", {"酒店设施": "热水"}, ["大酒店"]),
        ("酒店", {"酒店设施": "热水 wifi"}, []),
        ("地铁", {"出发地": "甲"}, []),
        ("地铁", {"出发地": "甲", "目的地": "乙"}, ["(起点) 甲", "(终点) 甲乙"]),
        ("地铁", {"出发地": "丙", "目的地": "乙"}, ["(终点) 甲乙"]),
        ("出租", {"出发地": "甲"}, []),
        ("出租", {"出发地": "甲", "目的地": "丁"}, ["出租 (甲 - 丁)"]),
        (None, {"名称": "甲"}, []),
    ],
)
def test_database_query_returns_the_expected_entities(
    domain: str | None, constraints: dict[str, str], expected: list[str]
) -> None:
    assert [entity.name for entity in Database(ROWS).query(domain, constraints)] == expected


def test_databases_can_be_pickled() -> None:
    copy = pickle.loads(pickle.dumps(Database(ROWS)))
    assert [entity.name for entity in copy.query(RESTAURANT, {"名称": "乙"})] == ["甲乙"]
    assert copy.named(HOTEL, "大酒店") == Database(ROWS).named(HOTEL, "大酒店")
    assert copy.named(HOTEL, "酒店") is None


@given(
    st.sampled_from([*VENUE_DOMAINS, METRO, TAXI]),
    st.dictionaries(
        st.sampled_from(["名称", "评分", "门票", "价格", "推荐菜", "酒店设施", "出发地", "?"]),
        st.text(max_size=12),
    ),
)
def test_arbitrary_constraints_return_only_known_entities(
    domain: str, constraints: dict[str, str]
) -> None:
    known = {entity.name for d in VENUE_DOMAINS for entity in Database(ROWS).entities(d)}
    found = {entity.name for entity in Database(ROWS).query(domain, constraints)}
    assert found <= known or domain in (METRO, TAXI)
