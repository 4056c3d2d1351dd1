"""Values that texts lack, and that they should not have."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.crosswoz.corpus.acts import Act, Acts, is_said
from mwzeval.crosswoz.scoring.slot_errors import redundant, value_counts, venue_names
from mwzeval.crosswoz.simulation.protocols import SYSTEM, USER, SeededRng
from mwzeval.crosswoz.systems.templates import Templates, turns_of
from tests.crosswoz.real_data import fold

NAMES = (Act("Recommend", "餐馆", "名称", "BHG店"), Act("Recommend", "餐馆", "名称", "乙"))
PRICE = Act("Inform", "酒店", "价格", "300元")
WIFI = Act("Inform", "酒店", "酒店设施-wifi", "是")
VENUES = ("故宫餐厅", "bhg店", "故宫")


@pytest.mark.parametrize(
    ("text", "acts", "counts"),
    [
        ("去bhg店或者乙", NAMES, (2, 0)),
        ("去乙", NAMES, (2, 1)),
        ("", NAMES, (2, 2)),
        ("没有", (Act("Inform", "餐馆", "评分", "无"),), (0, 0)),
        ("有", (WIFI,), (0, 0)),
        ("电话?", (Act("Request", "酒店", "电话", ""),), (0, 0)),
    ],
)
def test_missing_values(text: str, acts: tuple[Act, ...], counts: tuple[int, int]) -> None:
    assert value_counts(text, acts) == counts


@pytest.mark.parametrize(
    ("text", "acts", "count"),
    [
        ("去bhg店或者乙", NAMES, 0),
        ("去bhg店或者乙，乙", NAMES, 1),
        ("去bhg店或者乙，乙", (*NAMES, NAMES[1]), 0),
        ("价格300元", (PRICE,), 0),
        ("价格300元，300块", (PRICE,), 1),
        ("价格300元，电话010-62754070，14:30开", (PRICE,), 2),
        ("有wifi，wifi好", (WIFI,), 1),
        ("去故宫餐厅", (), 1),
        ("去故宫餐厅、故宫、故宫", (), 3),
        ("去BHG店", (PRICE,), 1),
        # The values of the turn are taken away before names are looked for.
        ("去故宫餐厅", (Act("Inform", "餐馆", "名称", "故宫餐厅"),), 0),
        ("[Inform+酒店+价格]和[Inform+酒店+价格2]", (PRICE,), 2),
        ("", NAMES, 0),
    ],
)
def test_redundant_values(text: str, acts: Acts, count: int) -> None:
    assert redundant(text, acts, VENUES) == count


def test_venues_are_those_that_acts_of_both_sides_tell() -> None:
    dialogue = next(iter(fold().dialogues.values()))
    told = {
        act for side in (USER, SYSTEM) for turn in turns_of(dialogue, side) for act in turn.acts
    }
    slots = ("名称", "周边景点", "周边餐馆", "周边酒店")
    names = {act.value.lower() for act in told if act.slot in slots} - {"", "无"}
    found = venue_names([dialogue])
    assert set(found) == names
    assert [len(name) for name in found] == sorted(map(len, found), reverse=True)


@given(st.lists(st.sampled_from([*NAMES, PRICE, WIFI]), unique=True), st.text("，好的", max_size=4))
def test_a_sentence_of_the_values_alone_has_no_errors(acts: list[Act], between: str) -> None:
    said = [act.service or act.value for act in acts if is_said(act)]
    told = tuple(acts)
    text = f"{between}；".join(said)
    assert value_counts(text, told)[1] == redundant(text, told, VENUES) == 0


def test_manual_templates_say_what_they_should() -> None:
    manual = {"Recommend+餐馆+名称": ["去[Recommend+餐馆+名称]"], "Inform+酒店+价格": ["故宫旁"]}
    said = Templates.from_json({}, manual).sentence((*NAMES, PRICE), SeededRng(0)) or ""
    assert value_counts(said, (*NAMES, PRICE)) == (3, 1)
    assert redundant(said, (*NAMES, PRICE), VENUES) == 1
