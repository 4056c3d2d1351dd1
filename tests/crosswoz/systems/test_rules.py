"""The rule system and its tracker: golden vectors and success of simulated users."""

from __future__ import annotations

import pytest

from mwzeval.crosswoz.corpus.acts import INFORM, SELECT, Act, parse_acts
from mwzeval.crosswoz.corpus.dialogues import Goal, goal_from_json
from mwzeval.crosswoz.corpus.names import HOTEL, RESTAURANT
from mwzeval.crosswoz.goals import GoalGenerator
from mwzeval.crosswoz.scoring.baselines import sparse
from mwzeval.crosswoz.scoring.success import judge
from mwzeval.crosswoz.simulation import Setting, planned_goals
from mwzeval.crosswoz.systems.rules import RuleSystem, RuleTracker, current_domain, inform_acts
from tests.crosswoz.real_data import database, vectors
from tests.crosswoz.world import DATABASE, IMPOSSIBLE, NEAR_AND_BY_METRO

STATIONS = "Request+地铁+出发地附近地铁站+ Request+地铁+目的地附近地铁站+"
TALKS = {
    "several recommendations, then details of one venue": [
        (
            "General+greet+none+none Request+餐馆+名称+",
            "Recommend+餐馆+名称+大酒楼 Recommend+餐馆+名称+小馆",
        ),
        (
            "Request+餐馆+推荐菜+",
            "Inform+餐馆+名称+小馆 Inform+餐馆+推荐菜+烤鱼 Inform+餐馆+推荐菜+豆花",
        ),
        ("General+thank+none+none", "General+welcome+none+none"),
    ],
    "the closest venue is offered, and dropped constraints are not requested again": [
        (
            "Inform+餐馆+人均消费+50-100元 Inform+餐馆+评分+4.8分以上",
            "Inform+餐馆+人均消费+160元 Inform+餐馆+名称+大酒楼 NoOffer+餐馆+none+none",
        ),
        ("Request+餐馆+电话+", "Inform+餐馆+电话+4"),
    ],
    "only the unavailable service is dropped": [
        (
            "Inform+酒店+酒店设施-大堂wifi+是 Inform+酒店+酒店设施-泳池+是",
            "Inform+酒店+名称+Blue客栈 Inform+酒店+酒店设施-泳池+否 NoOffer+酒店+none+none",
        ),
    ],
    "a trip needs departure and destination; unknown stations have the value none": [
        (f"Inform+地铁+出发地+映月园 {STATIONS}", "General+reqmore+none+none"),
        (
            f"Inform+地铁+目的地+小馆 {STATIONS}",
            "Inform+地铁+出发地附近地铁站+甲站 Inform+地铁+目的地附近地铁站+无",
        ),
        ("Inform+出租+出发地+甲 Inform+出租+目的地+乙 Request+出租+车型+", "Inform+出租+车型+#CX"),
    ],
}


@pytest.mark.parametrize("turns", TALKS.values(), ids=TALKS)
def test_rule_system_answers_from_the_database(turns: list[tuple[str, str]]) -> None:
    system = RuleSystem(DATABASE)
    for user, expected in turns:
        answer = system.answer(parse_acts(user.split(" ")))
        assert " ".join(map(str, answer)) == expected


def test_rule_system_tracks_selected_venues_and_dropped_constraints() -> None:
    system = RuleSystem(DATABASE)
    system.answer(parse_acts(["Inform+餐馆+人均消费+50-100元", "Inform+餐馆+评分+4.8分以上"]))
    system.answer(parse_acts(["Inform+酒店+酒店设施-大堂wifi+是", "Inform+酒店+酒店设施-泳池+是"]))
    assert system.selected == {"餐馆": ("大酒楼",), "酒店": ("Blue客栈",)}
    assert system.state["餐馆"]["人均消费"] == ""
    assert system.state["酒店"]["酒店设施"] == "大堂wifi"


def test_same_turn_nearby_references_are_resolved_unless_paper_compatible() -> None:
    for paper_compatible, names in ((False, ["Blue客栈"]), (True, ["Blue客栈", "星河饭店"])):
        system = RuleSystem(DATABASE, paper_compatible=paper_compatible)
        acts = system.answer(
            parse_acts(["Inform+餐馆+名称+小馆", "Select+酒店+源领域+餐馆", "Request+酒店+名称+"])
        )
        assert [act.value for act in acts] == names


@pytest.mark.parametrize(
    ("slot", "values"),
    [
        ("评分", ["4.5分"]),
        ("人均消费", ["60元"]),
        ("推荐菜", ["豆花", "烤鱼"]),
        ("周边餐馆", ["无"]),
    ],
)
def test_inform_acts_have_the_values_of_the_database(slot: str, values: list[str]) -> None:
    venue = DATABASE.named("餐馆", "小馆")
    assert venue is not None
    assert inform_acts("餐馆", slot, venue) == [
        Act("Inform", "餐馆", slot, value) for value in values
    ]


@pytest.mark.parametrize("goal", [NEAR_AND_BY_METRO, IMPOSSIBLE])
def test_simulated_dialogues_succeed_for_every_random_seed(goal: Goal) -> None:
    setting = Setting(DATABASE, RuleSystem)
    for number in range(20):
        dialogue = setting.simulate(goal, number, 0)
        assert dialogue.end == "user_stop", dialogue
        final = goal_from_json(dialogue.more["final_goal"])
        assert judge(goal, final, DATABASE).success, dialogue


@pytest.mark.integration
def test_simulated_users_finish_and_mostly_succeed_on_the_real_database() -> None:
    setting = Setting(database(), RuleSystem)
    goals = planned_goals(GoalGenerator(database()).goal, 1, 40)
    dialogues = [setting.simulate(goal, number, 1) for number, goal in goals]
    assert sum(d.end == "user_stop" for d in dialogues) >= 0.99 * len(dialogues)
    pairs = ((goal_from_json(d.goal), goal_from_json(d.more["final_goal"])) for d in dialogues)
    served = [judge(goal, final, setting.database).success for goal, final in pairs]
    assert sum(served) >= 0.85 * len(served)


@pytest.mark.integration
def test_rule_tracker_updates_match_the_golden_vectors() -> None:
    for vector in vectors("rule_dst"):
        tracker = RuleTracker(requests=[(d, s) for d, s in vector["request_slots_before"]])
        for domain, slots in vector["belief_before"].items():
            tracker.state[domain].update(slots)
        tracker.update(parse_acts(vector["user_acts"]), parse_acts(vector["system_acts"]))
        assert sparse(tracker.state) == sparse(vector["belief_after"]), vector["id"]
        assert tracker.domain == vector["cur_domain"]
        assert [list(request) for request in tracker.requests] == vector["request_slots_after"]


def test_current_domain_is_the_most_frequent_or_else_the_first() -> None:
    hotel, restaurant = (Act(INFORM, domain, "评分", "5分") for domain in (HOTEL, RESTAURANT))
    assert current_domain([hotel, restaurant, restaurant]) == RESTAURANT
    assert current_domain([hotel, restaurant]) == HOTEL
    assert current_domain([hotel, Act(SELECT, RESTAURANT, "源领域", HOTEL)]) == RESTAURANT
    assert current_domain([], [restaurant]) == RESTAURANT
    assert current_domain([]) is None


def test_negated_services_are_not_stored_in_the_state() -> None:
    tracker = RuleTracker()
    services = (("泳池", "否"), ("健身房", "是"), ("SPA", "否"))
    acts = [Act(INFORM, HOTEL, f"酒店设施-{name}", value) for name, value in services]
    assert tracker.update(acts)[HOTEL]["酒店设施"] == "健身房"
