"""State vectors and acts of the policy: golden vectors, delexicalization and lexicalization."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from mwzeval.crosswoz.corpus.acts import Acts, parse_acts
from mwzeval.crosswoz.corpus.database import Entity
from mwzeval.crosswoz.systems.sl_policy import (
    PolicyTurn,
    Vocabulary,
    delexicalized,
    lexicalized,
    load_vocabulary,
    multi_hot,
    policy_turns,
)
from mwzeval.files.downloads import DataRoot
from tests.crosswoz.real_data import database, fold, vectors
from tests.crosswoz.small_world import small_gold
from tests.places import shared


@cache
def vocabulary() -> Vocabulary:
    return load_vocabulary(DataRoot(shared("data", "crosswoz"), "--data"))


def round_trip(turn: PolicyTurn) -> Acts:
    """Return the gold acts after delexicalization and lexicalization."""
    known = (act for act in delexicalized(turn.gold_acts) if act in vocabulary().system)
    return lexicalized(known, turn.domain, turn.results)


@cache
def turns(name: str) -> tuple[PolicyTurn, ...]:
    dialogue = fold().dialogues[name]
    return tuple(policy_turns(dialogue, database(), vocabulary()))


@pytest.mark.integration
def test_policy_turns_match_the_golden_vectors() -> None:
    golden = vectors("policy_vector")
    assert len(golden) == 84
    for vector in golden:
        name, _, message = vector["id"].partition("#")
        turn = turns(name)[int(message) // 2]
        assert list(turn.situation) == vector["active_state_indices"], vector["id"]
        assert vocabulary().actions(turn.gold_acts) == vector["active_action_indices"]
        assert (turn.domain, len(turn.results)) == (vector["cur_domain"], vector["db_count"])
        assert delexicalized(parse_acts(vector["gold_system_acts"])) == vector["delex"]
        assert [list(act) for act in round_trip(turn)] == vector["relexicalised"]


@pytest.mark.integration
def test_public_state_vector_has_328_dimensions() -> None:
    known = vocabulary()
    assert (known.size, len(known.user), len(known.system)) == (328, 142, 155)
    rows = known.vectors([turns(name)[0].situation for name in list(fold().dialogues)[:3]])
    assert rows.shape == (3, 328)
    assert set(np.unique(rows)) == {0, 1}


HOTELS = (
    Entity("甲", {"酒店设施": ["暖气"], "价格": 300, "评分": None, "周边景点": ["园", "塔"]}),
    Entity("乙", {"酒店设施": []}),
)


@pytest.mark.parametrize(
    ("spelled", "value"),
    [
        ("Inform+酒店+名称+1", None),
        ("Recommend+酒店+名称+2", "乙"),
        ("Recommend+酒店+名称+3", None),
        ("Inform+酒店+酒店设施-暖气+1", "是"),
        ("Inform+酒店+酒店设施-泳池+1", "否"),
        ("Inform+酒店+价格+1", "300元"),
        ("Inform+酒店+评分+1", "None分"),
        ("Inform+酒店+周边景点+2", "塔"),
        ("Inform+酒店+周边景点+3", None),  # only two results
        ("Inform+酒店+周边餐馆+1", None),
        ("Inform+餐馆+名称+1", None),
        ("General+bye+none+none", "none"),
        ("NoOffer+酒店+none+none", "none"),
    ],
)
def test_acts_are_lexicalized_with_database_results(spelled: str, value: str | None) -> None:
    acts = lexicalized([spelled], "酒店", HOTELS)
    if spelled == "Inform+酒店+名称+1":
        assert acts[0].value == "None"  # these records have no field "name"
    else:
        assert [act.value for act in acts] == ([] if value is None else [value])


def test_traffic_acts_are_lexicalized_from_departure_and_destination() -> None:
    stops = (Entity("(起点) 甲", {"地铁": "一站"}), Entity("(终点) 乙", {"地铁": None}))
    asked = ["Inform+地铁+出发地附近地铁站+1", "Inform+地铁+目的地附近地铁站+1"]
    assert [act.value for act in lexicalized(asked, "地铁", stops)] == ["一站", "None"]
    assert [act.value for act in lexicalized(asked, "地铁", stops[:1])] == ["一站", "无"]
    taxi = (Entity("出租 (甲 - 乙)", {"车型": "#CX", "车牌": "#CP"}),)
    assert lexicalized(["Inform+出租+车牌+1"], "出租", taxi)[0].value == "#CP"
    assert lexicalized(["Inform+出租+车牌+1"], "出租", ()) == ()


def test_restaurant_tags_are_not_used_as_dishes() -> None:
    restaurants = (Entity("甲", {"推荐菜": ["老字号", "豆花"]}),) * 3
    assert [a.value for a in lexicalized(["Inform+餐馆+推荐菜+1"], "餐馆", restaurants)] == ["豆花"]
    assert lexicalized(["Inform+餐馆+推荐菜+2"], "餐馆", restaurants) == ()


def test_delexicalized_values_are_numbered_in_order() -> None:
    acts = parse_acts(["Inform+餐馆+推荐菜+甲", "Inform+餐馆+推荐菜+乙", "Request+餐馆+电话+"])
    numbered = ["Inform+餐馆+推荐菜+1", "Inform+餐馆+推荐菜+2", "Request+餐馆+电话+"]
    assert delexicalized(acts) == numbered


def test_mined_vocabulary_contains_all_acts_in_sorted_order() -> None:
    dialogues = small_gold().fold.dialogues.values()
    mined = Vocabulary.mined(dialogues)
    assert list(mined.system) == sorted(set(mined.system))
    for exchange in (exchange for dialogue in dialogues for exchange in dialogue.exchanges):
        assert len(mined.actions(exchange.system.acts)) == len(set(exchange.system.acts))


def test_multi_hot_sets_the_given_indices_to_one() -> None:
    assert multi_hot([[0, 2], []], 3).tolist() == [[1, 0, 1], [0, 0, 0]]
