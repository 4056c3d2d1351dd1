"""What the wizards of the embedded CrossWOZ sample are told of a goal."""

from __future__ import annotations

from mwzeval.crosswoz.corpus.dialogues import goal_from_json
from mwzeval.crosswoz.simulation.goals import GoalGenerator
from mwzeval.crosswoz.simulation.protocols import SeededRng
from tests.crosswoz.world import DATABASE
from tools.crosswoz_sample.task_descriptions import task_description


def test_a_task_description_says_all_of_a_goal() -> None:
    goal = goal_from_json(
        [
            [1, "餐馆", "推荐菜", ["烤鸭", "面"], False],
            [1, "餐馆", "名称", "", False],
            [1, "餐馆", "周边酒店", [], False],
            [2, "酒店", "名称", "出现在id=1的周边酒店里", False],
            [2, "酒店", "酒店设施-泳池", "是", False],
            [2, "酒店", "酒店设施-wifi", "", False],
            [3, "出租", "出发地", "id=1", False],
            [3, "出租", "目的地", "id=2", False],
            [3, "出租", "车型", "", False],
        ]
    )
    assert task_description(goal) == (
        "第1步：请找一家餐馆，要吃到烤鸭和面。需要问清：它的名称、有哪些周边酒店。",
        "第2步：请找一家酒店，要在第1步选定的地方附近，必须提供泳池。需要问清：是否提供wifi。",
        "第3步：请叫一辆出租车，从第1步选定的地方出发，到第2步选定的地方去。需要问清：它的车型。",
    )


def test_generated_goals_are_described_sub_goal_by_sub_goal() -> None:
    generator = GoalGenerator(DATABASE)
    for seed in range(50):
        goal = generator.goal(SeededRng(seed))
        texts = task_description(goal)
        assert len(texts) == goal[-1].subgoal
        for line in goal:
            text = texts[line.subgoal - 1]
            assert "id=" not in text
            if isinstance(line.value, str) and line.value and not line.refers:
                assert line.value in text or line.value == "是"
            if not line.value:
                assert line.slot.split("-", 1)[-1] in text
