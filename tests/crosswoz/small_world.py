"""A town of a few venues and two dialogues, for tests that need no real data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mwzeval.crosswoz.corpus.dialogues import dialogue_from_json, empty_state
from mwzeval.crosswoz.corpus.folds import RELEASE, Fold, Gold

TABLES: dict[str, list[list[Any]]] = {
    "景点": [
        [
            "小园",
            {
                "名称": "小园",
                "门票": 0,
                "游玩时间": "1小时 - 2小时",
                "评分": 4.5,
                "地址": "东街1号",
                "电话": "010-1,010-2",
                "周边餐馆": ["甲店"],
                "周边酒店": [],
                "周边景点": [],
            },
        ],
        ["大园", {"名称": "大园", "门票": 20, "评分": None, "周边餐馆": ["乙店(东)"]}],
    ],
    "餐馆": [
        [
            "甲店",
            {
                "名称": "甲店",
                "推荐菜": ["烤鸭", "豆腐"],
                "人均消费": 80,
                "评分": 4.0,
                "周边景点": ["小园"],
            },
        ],
        ["乙店(东)", {"名称": "乙店(东)", "推荐菜": [], "人均消费": 200, "周边景点": ["大园"]}],
    ],
    "酒店": [
        ["客栈", {"名称": "客栈", "酒店类型": "经济型", "酒店设施": ["暖气"], "价格": 150}],
    ],
    "地铁": [["小园", {"地铁": "东站A口"}], ["甲店", {"地铁": None}]],
}


def state(**domains: dict[str, Any]) -> dict[str, Any]:
    """Return a whole system state; `selectedResults` may be among the slots."""
    full: dict[str, Any] = {d: {**s, "selectedResults": []} for d, s in empty_state().items()}
    for domain, slots in domains.items():
        full[domain].update(slots)
    return full


def _user(content: str, acts: list[list[str]], lines: list[list[Any]]) -> dict[str, Any]:
    return {"role": "usr", "content": content, "dialog_act": acts, "user_state": lines}


def _system(
    content: str, acts: list[list[str]], first: dict[str, Any], last: dict[str, Any] | None = None
) -> dict[str, Any]:
    last = first if last is None else last
    plain = {"role": "sys", "content": content, "dialog_act": acts}
    return {**plain, "sys_state_init": first, "sys_state": last}


def _lines(*lines: tuple[Any, ...], expressed: str) -> list[list[Any]]:
    return [[*line, flag == "1"] for line, flag in zip(lines, expressed, strict=True)]


_NEAR = "出现在id=1的周边餐馆里"
_GARDEN = [(1, "景点", "门票", "免费"), (1, "景点", "名称", ""), (1, "景点", "电话", "")]
_GOAL = [*_GARDEN, (2, "餐馆", "名称", _NEAR), (2, "餐馆", "推荐菜", [])]
_CHOSEN = [
    (1, "景点", "门票", "免费"),
    (1, "景点", "名称", "小园"),
    (1, "景点", "电话", "010-1 010-2"),
]
_FINAL = [*_CHOSEN, (2, "餐馆", "名称", "甲店"), (2, "餐馆", "推荐菜", ["烤鸭"])]

DEPENDENT = {
    "type": "不独立多领域",
    "goal": _lines(*_GOAL, expressed="00000"),
    "final_goal": _lines(*_FINAL, expressed="11111"),
    "messages": [
        _user(
            "你好，想去免费的景点。",
            [["General", "greet", "none", "none"], ["Inform", "景点", "门票", "免费"]],
            _lines(*_GOAL, expressed="11000"),
        ),
        _system(
            "推荐您去小园。",
            [["Recommend", "景点", "名称", "小园"]],
            state(景点={"门票": "免费", "selectedResults": ["小园"]}),
        ),
        _user(
            "电话多少？",
            [["Request", "景点", "电话", ""]],
            _lines(*_CHOSEN[:2], *_GOAL[2:], expressed="11100"),
        ),
        _system(
            "010-1 010-2。",
            [["Inform", "景点", "电话", "010-1 010-2"]],
            state(景点={"门票": "免费", "selectedResults": ["小园"]}),
        ),
        _user(
            "在它附近找个餐馆，有什么推荐菜？",
            [["Request", "餐馆", "推荐菜", ""], ["Select", "餐馆", "源领域", "景点"]],
            _lines(*_CHOSEN, *_GOAL[3:], expressed="11111"),
        ),
        _system(
            "甲店，推荐烤鸭。",
            [["Inform", "餐馆", "名称", "甲店"], ["Inform", "餐馆", "推荐菜", "烤鸭"]],
            state(
                景点={"门票": "免费", "名称": "小园"},
                餐馆={"周边景点": "小园", "selectedResults": ["甲店"]},
            ),
        ),
        _user("谢谢", [["General", "thank", "none", "none"]], _lines(*_FINAL, expressed="11111")),
        _system(
            "不客气",
            [["General", "welcome", "none", "none"]],
            state(景点={"门票": "免费", "名称": "小园"}, 餐馆={"周边景点": "小园"}),
        ),
    ],
}
_ROOM = [
    (1, "酒店", "酒店设施-暖气", "是"),
    (1, "酒店", "名称", ""),
    (1, "酒店", "酒店类型", ""),
]
_BOOKED = [_ROOM[0], (1, "酒店", "名称", "客栈"), (1, "酒店", "酒店类型", "经济型")]
SINGLE = {
    "type": "单领域",
    "goal": _lines(*_ROOM, expressed="000"),
    "final_goal": _lines(*_BOOKED, expressed="111"),
    "messages": [
        _user(
            "有暖气的酒店？什么类型？",
            [["Inform", "酒店", "酒店设施-暖气", "是"], ["Request", "酒店", "酒店类型", ""]],
            _lines(*_ROOM, expressed="111"),
        ),
        _system(
            "客栈，经济型。",
            [["Inform", "酒店", "名称", "客栈"], ["Inform", "酒店", "酒店类型", "经济型"]],
            state(酒店={"酒店设施": "暖气", "酒店类型": "经济", "selectedResults": ["客栈"]}),
            state(酒店={"酒店设施": "暖气", "selectedResults": ["客栈"]}),
        ),
    ],
}


def small_gold() -> Gold:
    """Return the two dialogues, "1" (CM) and "2" (S), to score against."""
    plain = {"1": DEPENDENT, "2": SINGLE}
    dialogues = {name: dialogue_from_json(name, dialogue) for name, dialogue in plain.items()}
    return Gold(Fold(RELEASE, "test", "00000000", dialogues, TABLES))


ENGLISH = {"景点": "attraction", "餐馆": "restaurant", "酒店": "hotel", "地铁": "metro"}


def write_folds(folder: Path, **folds: list[str]) -> Path:
    """Write the small world as a release whose folds have some of its two dialogues each."""
    _write_database(folder)
    for fold, names in folds.items():
        plain = {name: {"1": DEPENDENT, "2": SINGLE}[name[0]] for name in names}
        (folder / f"{fold}.json").write_text(json.dumps(plain, ensure_ascii=False), "utf-8")
    return folder


def write_world(folder: Path, content: bytes | None = None) -> Path:
    """Write the small world as a release, its test fold perhaps with other content."""
    _write_database(folder)
    plain = json.dumps({"1": DEPENDENT, "2": SINGLE}, ensure_ascii=False).encode()
    (folder / "test.json").write_bytes(plain if content is None else content)
    return folder


def _write_database(folder: Path) -> None:
    (folder / "database").mkdir(parents=True)
    for domain, rows in TABLES.items():
        path = folder / "database" / f"{ENGLISH[domain]}_db.json"
        path.write_text(json.dumps(rows, ensure_ascii=False), "utf-8")
