"""Templates: the golden sentences, our own ones, mining, and files."""

from __future__ import annotations

from functools import cache
from pathlib import Path

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
from mwzeval.crosswoz.corpus.names import LIST_SLOTS, NAME, SERVICES, VENUE_DOMAINS
from mwzeval.crosswoz.simulation.goals import CONSTRAINED, REQUESTED, TRAFFIC_REQUESTS
from mwzeval.crosswoz.simulation.protocols import SYSTEM, USER, SeededRng, Side
from mwzeval.crosswoz.systems.templates import (
    MODES,
    PLACEHOLDER,
    Mode,
    TemplateNlg,
    Templates,
    fill,
    load_templates,
    mine_templates,
    write_templates,
)
from mwzeval.errors import DataError
from tests.crosswoz.real_data import FirstChoice, fold, vectors
from tests.places import shared

FIRST = FirstChoice(0)
SIDES: dict[str, Side] = {"usr": USER, "sys": SYSTEM}


@cache
def public() -> dict[Side, Templates]:
    return load_templates(shared("data", "crosswoz", "extra", "nlg_templates.zip"))


def test_sentences_are_those_of_the_golden_vectors() -> None:
    records = vectors("template_nlg")
    assert len(records) == 154
    for record in records:
        side, acts = SIDES[record["role"]], parse_acts(record["acts"])
        templates = public()[side]
        assert turn_key(acts) == parse_key(record["auto_key"]), record
        assert (turn_key(acts) in templates.auto) == record["in_auto_templates"], record
        assert templates.sentence(acts, FIRST) == record["first_template_output"], record
        assert (templates.sentence(acts, FIRST, "auto") is None) != record["in_auto_templates"]


def test_keys_are_spelled_as_the_public_files_spell_them() -> None:
    for record in vectors("template_nlg"):
        acts = parse_acts(record["acts"])
        assert spelled_key(acts) == spelled_key(acts[::-1]) == record["auto_key"]


def user_acts() -> list[Act]:
    acts = [general(kind) for kind in USER_GENERAL]
    for domain in VENUE_DOMAINS:
        acts += [Act("Inform", domain, slot, "甲") for slot in (*CONSTRAINED[domain], NAME)]
        acts += [Act("Request", domain, slot, "") for slot in (*REQUESTED[domain], NAME)]
    acts = [act for act in acts if act.slot != SERVICES]
    acts += [Act("Inform", "酒店", "酒店设施-泳池", value) for value in ("是", "否")]
    acts += [Act("Request", "酒店", "酒店设施-泳池", ""), Act("Inform", "景点", "门票", "免费")]
    for domain, slots in TRAFFIC_REQUESTS.items():
        acts += [Act("Request", domain, slot, "") for slot in slots]
        acts += [Act("Inform", domain, slot, "甲") for slot in ("出发地", "目的地")]
    near = [(a, b) for a in VENUE_DOMAINS for b in VENUE_DOMAINS if (a, b) != ("酒店", "酒店")]
    return acts + [Act("Select", a, "源领域", b) for a, b in near]


def system_turns() -> list[Acts]:
    single = [general(kind) for kind in SYSTEM_GENERAL]
    turns: list[Acts] = []
    for domain in VENUE_DOMAINS:
        single += [Act("NoOffer", domain, "none", "none"), Act("Inform", domain, NAME, "甲")]
        single += [
            Act("Inform", domain, slot, value)
            for slot in REQUESTED[domain]
            if slot != SERVICES
            for value in ("甲", "无")
        ]
        for count in (1, 2, 3, 4, 5, 9):
            names = [f"店{number}" for number in range(count)]
            turns.append(tuple(Act("Recommend", domain, NAME, name) for name in names))
            turns += [
                tuple(Act("Inform", domain, slot, name) for name in names)
                for slot in REQUESTED[domain]
                if slot in LIST_SLOTS
            ]
    for domain, slots in TRAFFIC_REQUESTS.items():
        single += [Act("Inform", domain, slot, value) for slot in slots for value in ("甲", "无")]
    single += [Act("Inform", "酒店", "酒店设施-泳池", value) for value in ("是", "否")]
    single.append(Act("Inform", "景点", "门票", "免费"))
    return turns + [(act,) for act in single]


@pytest.mark.parametrize("seed", range(4))
def test_our_own_sentences_say_whatever_simulators_and_policies_do(seed: int) -> None:
    nlg, rng = TemplateNlg(load_templates()), SeededRng(seed)
    turns: list[tuple[Side, Acts]] = [(USER, (act,)) for act in user_acts()]
    turns += [(SYSTEM, acts) for acts in system_turns()]
    for side, acts in turns:
        text = nlg.say(acts, side, rng)
        assert text, acts
        assert not PLACEHOLDER.search(text), text
        for act in acts:
            if act.intent in ("Inform", "Recommend"):
                said = act.service or ("" if act.value == "无" else act.value)
                assert said in text, (act, text)


def test_the_same_acts_in_another_order_are_said_the_same() -> None:
    acts = (Act("Inform", "酒店", "酒店设施-泳池", "是"), general("thank"), general("greet"))
    templates = load_templates()[USER]
    assert templates.sentence(acts, FIRST) == templates.sentence(acts[::-1], FIRST)


@pytest.mark.parametrize("mode", MODES)
def test_what_there_are_no_words_for_is_none(mode: Mode) -> None:
    assert Templates({}, {}).sentence((general("thank"),), FIRST, mode) is None


@pytest.mark.exhaustive
def test_a_mined_sentence_says_again_what_it_was_mined_from(tmp_path: Path) -> None:
    dialogues = list(fold("val").dialogues.values())[:40]
    write_templates(tmp_path, "auto", mine_templates(dialogues))
    mined = load_templates(tmp_path)
    again = turns = 0
    for dialogue in dialogues:
        for exchange in dialogue.exchanges:
            for side, turn in ((USER, exchange.user), (SYSTEM, exchange.system)):
                turns += 1
                acts = lowered(turn.acts)
                sentences = mined[side].auto.get(turn_key(acts), ())
                again += turn.utterance.lower() in {fill(s, acts).lower() for s in sentences}
    # Some 4 % of values are not in their utterance, and such utterances are left out.
    assert 0.85 < again / turns < 1


def test_mined_templates_are_mostly_those_of_the_authors() -> None:
    mined = mine_templates(fold("val").dialogues.values())
    for side in (USER, SYSTEM):
        known = sum(parse_key(key) in public()[side].auto for key in mined[side])
        assert known / len(mined[side]) > 0.75, side


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no templates of the user"),
        ("[]", "expected an object"),
        ('{"a": "b"}', "expected an object"),
        ('{"a": []}', "expected an object"),
        ("{", "cannot be read as JSON"),
    ],
)
def test_bad_files_are_told(tmp_path: Path, content: str | None, message: str) -> None:
    if content is not None:
        (tmp_path / "auto_user_template_nlg.json").write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        load_templates(tmp_path)


def test_a_file_that_is_no_archive_is_told(tmp_path: Path) -> None:
    (tmp_path / "x.zip").write_text("no", encoding="utf-8")
    with pytest.raises(DataError, match="not a complete zip archive"):
        load_templates(tmp_path / "x.zip")


def test_our_own_files_have_the_keys_of_the_public_ones_and_other_sentences() -> None:
    own = load_templates()
    for side in (USER, SYSTEM):
        assert set(public()[side].manual) <= set(own[side].manual)
        theirs = {s for sentences in public()[side].manual.values() for s in sentences}
        ours = [s for sentences in own[side].manual.values() for s in sentences if "[" in s]
        assert not theirs & set(ours)
