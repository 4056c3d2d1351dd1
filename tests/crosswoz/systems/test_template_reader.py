"""The NLU of templates: what was said with them is understood."""

from __future__ import annotations

import pytest

from mwzeval.crosswoz.systems.template_reader import TemplateReader
from tests.crosswoz.world import DATABASE

USER = {
    "General+greet+none": ["你好"],
    "Inform+餐馆+推荐菜": ["我想吃[Inform+餐馆+推荐菜]"],
    "Inform+餐馆+推荐菜1+推荐菜2": ["我想吃[Inform+餐馆+推荐菜1]，还有[Inform+餐馆+推荐菜2]"],
    "Inform+酒店+名称": ["我住[Inform+酒店+名称]"],
    "Inform+酒店+酒店设施+是": ["要有[Inform+酒店+酒店设施+是]"],
    "Request+酒店+酒店设施": ["有没有[Request+酒店+酒店设施]？"],
    "Request+餐馆+评分": ["评分是多少？"],
    "Request+酒店+评分": ["评分是多少？"],
    "Request+酒店+电话": ["酒店电话呢？"],
    "Select+酒店+源领域+餐馆": ["在餐馆周边找一家酒店"],
}
SYSTEM = {
    "Inform+主体+属性+无": ["[主体]没有[属性]"],
    "Inform+景点+门票+免费": ["门票是免费的"],
    "Inform+景点+门票": ["门票是[Inform+景点+门票]"],
    "Inform+景点+名称": ["[Inform+景点+名称]不错", "[Inform+景点+名称]"],
    "NoOffer+景点+none": ["没有合适的景点"],
    "Recommend+景点+名称1+名称2": ["[Recommend+景点+名称1]、[Recommend+景点+名称2]都可以"],
}
WIFI = "Request+酒店+酒店设施-大堂wifi+"
READER = TemplateReader(USER, SYSTEM, DATABASE)


@pytest.mark.parametrize(
    ("utterance", "acts"),
    [
        ("你好，我想吃豆花。", ["General+greet+none+none", "Inform+餐馆+推荐菜+豆花"]),
        ("我想吃豆花，还有烤鱼。", ["Inform+餐馆+推荐菜+豆花", "Inform+餐馆+推荐菜+烤鱼"]),
        ("我住blue客栈。", ["Inform+酒店+名称+Blue客栈"]),
        (
            "要有暖气，有没有大堂wifi？",
            ["Inform+酒店+酒店设施-暖气+是", "Request+酒店+酒店设施-大堂wifi+"],
        ),
        ("酒店电话呢，评分是多少。", ["Request+酒店+电话+", "Request+酒店+评分+"]),
        ("评分是多少，我想吃豆花。", ["Request+餐馆+评分+", "Inform+餐馆+推荐菜+豆花"]),
        ("今天天气不错，在餐馆周边找一家酒店。", ["Select+酒店+源领域+餐馆"]),
        ("", []),
        ("，，。", []),
    ],
)
def test_users_are_understood(utterance: str, acts: list[str]) -> None:
    assert [str(act) for act in READER.understand(utterance, (), "user")] == acts


@pytest.mark.parametrize(
    ("utterance", "acts"),
    [
        ("门票是免费的。", ["Inform+景点+门票+免费"]),
        ("门票是30元。", ["Inform+景点+门票+30元"]),
        ("古塔、映月园都可以。", ["Recommend+景点+名称+古塔", "Recommend+景点+名称+映月园"]),
        ("没有合适的景点，古塔不错。", ["NoOffer+景点+none+none", "Inform+景点+名称+古塔"]),
        ("酒店没有周边酒店。", ["Inform+酒店+周边酒店+无"]),
        ("随便说说。", []),
    ],
)
def test_systems_are_understood(utterance: str, acts: list[str]) -> None:
    assert [str(act) for act in READER.understand(utterance, (), "system")] == acts


@pytest.mark.parametrize(
    ("context", "domain"),
    [
        ([], "餐馆"),
        (["我住blue客栈。", "好的。"], "酒店"),
        (["酒店电话呢。", "我想吃豆花。"], "餐馆"),
    ],
)
def test_the_context_tells_which_domain_is_meant(context: list[str], domain: str) -> None:
    (act,) = READER.understand("评分是多少？", context, "user")
    assert act.domain == domain
