"""Templates: golden sentences, bundled templates, mining, files and template-based NLU."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from statistics import mean

import pytest

from mwzeval.crosswoz.corpus.acts import (
    SYSTEM_GENERAL,
    USER_GENERAL,
    Act,
    Acts,
    general,
    lowered,
    parse_acts,
    parse_key,
    spelled_key,
    turn_key,
)
from mwzeval.crosswoz.corpus.names import (
    DOMAINS,
    LIST_SLOTS,
    NAME,
    SERVICES,
    TRAFFIC_DOMAINS,
    VENUE_DOMAINS,
)
from mwzeval.crosswoz.corpus.ontology import REQUESTABLE
from mwzeval.crosswoz.goals import CONSTRAINED, REQUESTED
from mwzeval.crosswoz.protocols import SYSTEM, USER, Rng, Side
from mwzeval.crosswoz.systems.templates import (
    MODES,
    PLACEHOLDER,
    Mode,
    TemplateNlg,
    TemplateReader,
    Templates,
    fill,
    load_templates,
    mine_templates,
    turns_of,
    write_templates,
)
from mwzeval.errors import DataError
from tests.crosswoz.real_data import FirstChoice, fold, vectors
from tests.crosswoz.world import DATABASE
from tests.places import shared

FIRST = FirstChoice(0)
SIDES: dict[str, Side] = {"usr": USER, "sys": SYSTEM}


@cache
def public() -> dict[Side, Templates]:
    return load_templates(shared("data", "crosswoz", "extra", "nlg_templates.zip"))


@pytest.mark.integration
def test_template_sentences_match_the_golden_vectors() -> None:
    records = vectors("template_nlg")
    assert len(records) == 154
    for record in records:
        side, acts = SIDES[record["role"]], parse_acts(record["acts"])
        templates = public()[side]
        assert turn_key(acts) == parse_key(record["auto_key"]), record
        assert spelled_key(acts) == spelled_key(acts[::-1]) == record["auto_key"]
        assert (turn_key(acts) in templates.auto) == record["in_auto_templates"], record
        assert templates.sentence(acts, FIRST) == record["first_template_output"], record
        assert (templates.sentence(acts, FIRST, "auto") is None) != record["in_auto_templates"]


def turns_of_simulators() -> Iterator[tuple[Side, Acts]]:
    """Yield turns with all acts of simulated users and the rule system."""
    user = [general(kind) for kind in USER_GENERAL]
    system = [general(kind) for kind in SYSTEM_GENERAL]
    for value in ("是", "否"):
        user.append(Act("Inform", "酒店", "酒店设施-泳池", value))
        system.append(Act("Inform", "酒店", "酒店设施-泳池", value))
    user.append(Act("Request", "酒店", "酒店设施-泳池", ""))
    constrained = {domain: (*CONSTRAINED[domain], NAME) for domain in VENUE_DOMAINS}
    constrained |= dict.fromkeys(TRAFFIC_DOMAINS, ("出发地", "目的地"))
    requested = {domain: (*REQUESTED[domain], NAME) for domain in VENUE_DOMAINS}
    requested |= {domain: REQUESTABLE[domain] for domain in TRAFFIC_DOMAINS}
    for domain in DOMAINS:
        user += [Act("Inform", domain, s, "甲") for s in constrained[domain] if s != SERVICES]
        slots = [slot for slot in requested[domain] if slot != SERVICES]
        user += [Act("Request", domain, slot, "") for slot in slots]
        answers = [(slot, value) for slot in slots for value in ("甲", "无")]
        system += [Act("Inform", domain, *pair) for pair in answers if pair != (NAME, "无")]
    for domain in VENUE_DOMAINS:
        system.append(Act("NoOffer", domain, "none", "none"))
        near = [other for other in VENUE_DOMAINS if {domain, other} != {"酒店"}]
        user += [Act("Select", domain, "源领域", other) for other in near]
        lists = [("Inform", slot) for slot in REQUESTED[domain] if slot in LIST_SLOTS]
        for count in (1, 2, 3, 4, 5, 9):
            for intent, slot in (("Recommend", NAME), *lists):
                yield SYSTEM, tuple(Act(intent, domain, slot, f"店{n}") for n in range(count))
    free = Act("Inform", "景点", "门票", "免费")
    yield from ((USER, (act,)) for act in (*user, free))
    yield from ((SYSTEM, (act,)) for act in (*system, free))


@pytest.mark.parametrize("seed", range(2))
def test_bundled_templates_cover_all_acts_of_simulators(seed: int) -> None:
    nlg, rng = TemplateNlg(load_templates()), Rng(seed)
    for side, acts in turns_of_simulators():
        text = nlg.say(acts, side, rng)
        assert text, acts
        assert not PLACEHOLDER.search(text), text
        for act in acts:
            if act.intent in ("Inform", "Recommend"):
                said = act.service or ("" if act.value == "无" else act.value)
                assert said in text, (act, text)


def test_order_of_acts_does_not_change_the_sentence() -> None:
    acts = (Act("Inform", "酒店", "酒店设施-泳池", "是"), general("thank"), general("greet"))
    templates = load_templates()[USER]
    assert templates.sentence(acts, FIRST) == templates.sentence(acts[::-1], FIRST)


def test_values_are_split_over_the_largest_available_templates() -> None:
    key = "Inform+餐馆+推荐菜"
    keys = [key, f"{key}1+推荐菜2", f"{key}1+推荐菜2+推荐菜3"]
    manual = {name: [f"{number}：[{key}1]"] for number, name in enumerate(keys, start=1)}
    acts = tuple(Act("Inform", "餐馆", "推荐菜", dish) for dish in "甲乙丙丁戊")
    assert Templates({}, manual).sentence(acts, FIRST, "manual") == "3：甲，2：丁。"


@pytest.mark.parametrize("mode", MODES)
def test_acts_without_a_template_give_no_sentence(mode: Mode) -> None:
    assert Templates({}, {}).sentence((general("thank"),), FIRST, mode) is None


@pytest.mark.integration
def test_mined_templates_reproduce_their_source_utterances(tmp_path: Path) -> None:
    dialogues = list(fold("val").dialogues.values())
    write_templates(tmp_path, "auto", mine_templates(dialogues))
    mined = load_templates(tmp_path)
    for side in (USER, SYSTEM):
        again = []
        for turn in (turn for dialogue in dialogues[:40] for turn in turns_of(dialogue, side)):
            acts = lowered(turn.acts)
            sentences = mined[side].auto.get(turn_key(acts), ())
            again.append(turn.utterance.lower() in {fill(s, acts).lower() for s in sentences})
        # About 4 % of the values are not in their utterance; such utterances give no template.
        assert 0.85 < mean(again) < 1
        assert mean(key in public()[side].auto for key in mined[side].auto) > 0.75


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("x.zip", "no archive"),
        *(
            ("auto_user_template_nlg.json", content)
            for content in ("[]", '{"a": "b"}', '{"a": []}', "{")
        ),
    ],
)
def test_invalid_template_files_are_named_in_errors(
    tmp_path: Path, file: str, content: str
) -> None:
    (tmp_path / file).write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=file):
        load_templates(tmp_path / file if file == "x.zip" else tmp_path)


def test_a_folder_without_templates_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="user"):
        load_templates(tmp_path)


@pytest.mark.integration
def test_bundled_templates_have_the_public_keys_and_other_sentences() -> None:
    own = load_templates()
    for side in (USER, SYSTEM):
        assert set(public()[side].manual) <= set(own[side].manual)
        theirs = {s for sentences in public()[side].manual.values() for s in sentences}
        ours = [s for sentences in own[side].manual.values() for s in sentences if "[" in s]
        assert not theirs & set(ours)


USER_TEMPLATES = {
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
SYSTEM_TEMPLATES = {
    "Inform+主体+属性+无": ["[主体]没有[属性]"],
    "Inform+景点+门票+免费": ["门票是免费的"],
    "Inform+景点+门票": ["门票是[Inform+景点+门票]"],
    "Inform+景点+名称": ["[Inform+景点+名称]不错", "[Inform+景点+名称]"],
    "NoOffer+景点+none": ["没有合适的景点"],
    "Recommend+景点+名称1+名称2": ["[Recommend+景点+名称1]、[Recommend+景点+名称2]都可以"],
}
READER = TemplateReader(USER_TEMPLATES, SYSTEM_TEMPLATES, DATABASE)


@pytest.mark.parametrize(
    ("side", "utterance", "acts"),
    [
        (USER, "你好，我想吃豆花。", "General+greet+none+none Inform+餐馆+推荐菜+豆花"),
        (USER, "我想吃豆花，还有烤鱼。", "Inform+餐馆+推荐菜+豆花 Inform+餐馆+推荐菜+烤鱼"),
        (USER, "我住blue客栈。", "Inform+酒店+名称+Blue客栈"),
        (
            USER,
            "要有暖气，有没有大堂wifi？",
            "Inform+酒店+酒店设施-暖气+是 Request+酒店+酒店设施-大堂wifi+",
        ),
        (USER, "酒店电话呢，评分是多少。", "Request+酒店+电话+ Request+酒店+评分+"),
        (USER, "评分是多少，我想吃豆花。", "Request+餐馆+评分+ Inform+餐馆+推荐菜+豆花"),
        (USER, "今天天气不错，在餐馆周边找一家酒店。", "Select+酒店+源领域+餐馆"),
        (USER, "", ""),
        (USER, "，，。", ""),
        (SYSTEM, "门票是免费的。", "Inform+景点+门票+免费"),
        (SYSTEM, "门票是30元。", "Inform+景点+门票+30元"),
        (SYSTEM, "古塔、映月园都可以。", "Recommend+景点+名称+古塔 Recommend+景点+名称+映月园"),
        (SYSTEM, "没有合适的景点，古塔不错。", "NoOffer+景点+none+none Inform+景点+名称+古塔"),
        (SYSTEM, "酒店没有周边酒店。", "Inform+酒店+周边酒店+无"),
        (SYSTEM, "随便说说。", ""),
    ],
)
def test_template_reader_extracts_acts_from_utterances(
    side: Side, utterance: str, acts: str
) -> None:
    assert " ".join(map(str, READER.understand(utterance, (), side))) == acts


@pytest.mark.parametrize(
    ("context", "domain"),
    [
        ([], "餐馆"),
        (["我住blue客栈。", "好的。"], "酒店"),
        (["酒店电话呢。", "我想吃豆花。"], "餐馆"),
    ],
)
def test_context_resolves_ambiguous_domains(context: list[str], domain: str) -> None:
    (act,) = READER.understand("评分是多少？", context, "user")
    assert act.domain == domain
