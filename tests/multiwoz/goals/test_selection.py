"""The goals of a run are those that one text asks for; drawn ones are as the public generator's."""

from __future__ import annotations

import json
import math
import pickle
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from mwzeval.errors import DataError, UsageError
from mwzeval.files.downloads import DataRoot
from mwzeval.multiwoz.choices import SAMPLE
from mwzeval.multiwoz.convlab.resources import ActDatabase, load_act_database
from mwzeval.multiwoz.corpus import corpus_root
from mwzeval.multiwoz.goals.goal import ORDERING, Goal, without
from mwzeval.multiwoz.goals.selection import (
    PARTS,
    GoalModel,
    RunGoals,
    estimated_model,
    parse_goal_source,
    read_goal_model,
    select_goals,
)
from mwzeval.multiwoz.live.wordings import goal_sentences
from tests.multiwoz.convlab.records import golden, real_database
from tests.places import read_json, shared

MULTIWOZ = "multiwoz-2.1"


@pytest.fixture(scope="module")
def root() -> DataRoot:
    return corpus_root(MULTIWOZ, shared("data", "multiwoz"), offline=True)


def selected(root: DataRoot, source: str, **options: object) -> RunGoals:
    database = real_database()
    return select_goals(source, corpus=MULTIWOZ, root=root, database=database, **options)  # type: ignore[arg-type]


def parts(goals: RunGoals, name: str) -> int:
    return sum(name in goal[domain] for goal in goals.goals.values() for domain in goal[ORDERING])


@pytest.mark.integration
def test_goals_of_the_corpus_have_no_first_wish_that_the_database_grants(root: DataRoot) -> None:
    """Otherwise they are those of the public conversion, to the order of domains and slots."""
    raw, mended = selected(root, "corpus-raw"), selected(root, "corpus")
    expected = {each["dialogue"].lower(): each for each in golden("corpus_goals")}
    assert list(mended.goals) == list(raw.goals) == list(expected)
    for name, each in expected.items():
        assert json.dumps(raw.goals[name]) == json.dumps(each["goal"])
        wanted = without(each["goal"], "fail_info", each["drop_fail_info"])
        assert mended.goals[name] == wanted
    assert (parts(raw, "fail_info"), parts(mended, "fail_info")) == (394, 394 - 181)
    assert (raw.source, mended.source) == ("corpus-raw:test", "corpus:test")
    assert raw.sha != mended.sha


@pytest.mark.integration
def test_sentences_are_those_of_goals_that_they_tell_exactly(root: DataRoot) -> None:
    """Who is told of a wish or a booking that is not in the goal would follow the wrong one."""
    whole = selected(root, "corpus-raw", refused_bookings=True)
    assert parts(whole, "fail_book") == 80
    for goal in whole.goals.values():
        for part in (goal[domain] for domain in goal[ORDERING] if "fail_book" in goal[domain]):
            assert part["fail_book"].keys() == part["book"].keys()
    assert whole.messages.keys() == whole.goals.keys()
    assert not any("<" in text for message in whole.messages.values() for text in message)
    mended = selected(root, "corpus")
    assert parts(mended, "fail_book") == 0
    assert mended.messages.keys() == {
        name for name, goal in whole.goals.items() if goal == mended.goals[name]
    }


def in_town(source: str, seed: int = 0) -> RunGoals:
    """Return goals of the sample."""
    sample = corpus_root(SAMPLE, None, offline=True)
    database = load_act_database(sample)
    return select_goals(source, corpus=SAMPLE, root=sample, database=database, seed=seed)


def test_a_choice_takes_goals_from_the_beginning_or_by_id() -> None:
    every = in_town("corpus")
    first = in_town("corpus:test:50")
    assert list(first.goals.items()) == list(every.goals.items())[:50]
    ids = list(every.goals)[7:9]
    chosen = in_town(f"corpus:{ids[1].upper()},{ids[0]}.json")
    assert list(chosen.goals) == [ids[1], ids[0]]
    assert chosen.source == f"corpus:test:{ids[1]},{ids[0]}"
    assert in_town(chosen.source).sha == chosen.sha
    assert len(in_town("corpus:dev:3").goals) == 3


@pytest.mark.parametrize(
    ("source", "named"), [("corpus:smp002", r'"smp002".*"smp0\d+"'), ("corpus:1001", "62.*1,001")]
)
def test_goals_that_are_not_there_are_named(source: str, named: str) -> None:
    with pytest.raises(UsageError, match=named):
        in_town(source)


@pytest.mark.parametrize(
    "text",
    [
        *("", "corpse", "sampled", "sampled:dev:3", "sampled:0", "sampled:٣", "sampled:1000001"),
        *("corpus:test:1:2", "corpus:test:", "corpus:-3", "corpus:٣", "corpus:9" + "9" * 5000),
    ],
)
def test_a_text_that_means_no_goals_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=f'"{text[:20]}.*1,000,000'):
        parse_goal_source(text)


def test_the_kind_of_goals_that_is_meant_is_named() -> None:
    with pytest.raises(UsageError, match='"corpus"'):
        parse_goal_source("corpse:dev")


def test_sampled_goals_follow_from_the_seed_and_their_number() -> None:
    few, more = (in_town(f"sampled:{number}", seed=3) for number in (5, 20))
    assert list(few.goals) == [f"sampled-000{number}" for number in range(1, 6)]
    assert few.goals.items() <= more.goals.items()
    assert in_town("sampled:5", seed=4).goals != few.goals
    assert not few.messages
    for item, goal in few.goals.items():
        assert few.sentences(item) == goal_sentences(goal)
    annotated = in_town("corpus-raw:dev")
    assert annotated.messages
    for item, message in annotated.messages.items():
        assert annotated.sentences(item) == list(message)


@pytest.mark.integration
def test_the_goal_model_of_the_data_is_that_of_its_file(root: DataRoot) -> None:
    file = shared("data", "live", "goal_model.json")
    assert selected(root, "sampled:5", goal_model=file) == selected(root, "sampled:5")


@pytest.mark.parametrize(
    ("source", "number"),
    [("corpus", 62), ("corpus-raw:dev", 10), ("corpus:train:2", 2), ("sampled:300", 300)],
)
def test_goals_of_the_sample_can_be_met(source: str, number: int) -> None:
    database = load_act_database(corpus_root(SAMPLE, None, offline=True))
    goals = in_town(source).goals
    assert len(goals) == number
    check_wishes(goals.values(), database, raw="raw" in source, drawn="sampled" in source)


def check_wishes(goals: Iterable[Goal], database: ActDatabase, *, raw: bool, drawn: bool) -> None:
    """Check that no first wish can be met, and the others can."""
    for goal in goals:
        for part, domain in ((goal[domain], domain) for domain in goal[ORDERING]):
            first = part.get("fail_info")
            assert raw or first is None or not database.query(domain, first.items())
            if drawn:
                assert "reqt" in part or "book" in part
                assert database.query(domain, part["info"].items())
                assert first is None or len(first.items() - part["info"].items()) == 1


@pytest.mark.integration
def test_a_missing_goal_model_is_named_with_its_address(root: DataRoot) -> None:
    bare = DataRoot(shared("data", "multiwoz", "db"), "--data", root.published)
    with pytest.raises(DataError, match=r"new_goal_model\.pkl"):
        select_goals("sampled:1", corpus=MULTIWOZ, root=bare, database=real_database())


GOALS = 10_000


@pytest.fixture(scope="module")
def database() -> ActDatabase:
    return real_database()


@pytest.fixture(scope="module")
def model(database: ActDatabase) -> GoalModel:
    return GoalModel(read_json(shared("data", "live", "goal_model.json")), database)


@pytest.fixture(scope="module")
def goals(model: GoalModel) -> list[Goal]:
    return [model.sample(Random(f"7/{number}")) for number in range(GOALS)]


def counts_of(goals: Iterable[Goal]) -> Counter[str]:
    """Return in how many goals something is, named as in the golden statistics."""
    counts: Counter[str] = Counter()
    for goal in goals:
        domains = goal[ORDERING]
        counts[f"order|{'|'.join(domains)}"] += 1
        counts[f"domains|{len(domains)}"] += 1
        for domain in domains:
            for part, slots in goal[domain].items():
                counts.update([f"{domain}|{part}", *(f"{domain}|{part}|{slot}" for slot in slots)])
        counts.update(relations_of(goal))
    return counts


def relations_of(goal: Goal) -> Iterator[str]:
    """Yield what domains of a goal have in common."""
    areas = [
        goal.get(domain, {}).get("info", {}).get("area") for domain in ("restaurant", "attraction")
    ]
    if all(areas):
        yield "rest+attr area"
        if areas[0] == areas[1]:
            yield "same area"
    books = [goal.get(domain, {}).get("book") for domain in ("restaurant", "hotel")]
    if all(books):
        yield "rest+hotel book"
        yield from (
            f"same {slot}" for slot in ("day", "people") if books[0][slot] == books[1][slot]
        )
    if "taxi" in goal and len(goal[ORDERING]) > 1:
        ends = ("departure", "destination")
        yield from (f"taxi no {end}" for end in ends if end not in goal["taxi"]["info"])


@pytest.mark.integration
def test_what_is_in_goals_is_as_frequent_as_in_golden_ones(goals: list[Goal]) -> None:
    statistics = read_json(shared("golden", "live", "goal_statistics.json"))
    assert statistics["n"] == GOALS
    # The number of slots in all is the sum of the numbers of each.
    expected = {name: n for name, n in statistics["counts"].items() if not name.endswith("#")}
    counts = counts_of(goals)
    assert counts.keys() == expected.keys()
    deviations = {}
    for name, number in expected.items():
        share = (number + counts[name]) / (2 * GOALS)
        spread = math.sqrt(2 * GOALS * share * (1 - share))
        deviations[name] = (counts[name] - number) / spread if spread else 0.0
    # One of 132 normal deviates exceeds 4 once in a hundred runs; all together they spread by 1.
    assert {name: z for name, z in deviations.items() if abs(z) > 4} == {}
    assert math.sqrt(sum(z * z for z in deviations.values()) / len(deviations)) < 1.25


def shapes_of(goal: Goal) -> Iterator[tuple[str, ...]]:
    for domain in goal[ORDERING]:
        yield (domain, *goal[domain])
        yield from ((domain, part, *slots) for part, slots in goal[domain].items())


@pytest.mark.integration
def test_golden_goals_are_of_shapes_that_are_drawn(goals: list[Goal]) -> None:
    """Parts and slots, and their order, which is that in which a user would speak of them."""
    drawn = {shape for goal in goals for shape in shapes_of(goal)}
    assert {shape for goal in golden("goals_sampled") for shape in shapes_of(goal)} <= drawn


@pytest.mark.integration
def test_every_wish_can_be_met_and_no_first_wish_can(
    goals: list[Goal], database: ActDatabase
) -> None:
    check_wishes(goals, database, raw=False, drawn=True)


@pytest.mark.integration
def test_domains_of_a_goal_fit_one_another(goals: list[Goal]) -> None:
    week = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
    seen: Counter[str] = Counter()
    for goal in goals:
        taxi, hotel = goal.get("taxi"), goal.get("hotel", {}).get("book")
        restaurant = goal.get("restaurant", {}).get("book")
        if taxi and restaurant and goal[ORDERING][-2] == "restaurant":
            assert taxi["info"] == {"arriveBy": restaurant["time"]}
            seen["taxi"] += 1
        if hotel and "train" in goal:
            train = goal["train"]["info"]
            arrives = week.index(hotel["day"])
            towards = train["destination"] == "cambridge"
            assert towards or train["departure"] == "cambridge"
            day = arrives if towards else arrives + int(hotel["stay"])
            assert train["day"] == week[day % 7]
            seen["to" if towards else "from"] += 1
    assert seen.keys() == {"taxi", "to", "from"}


TAXI = {
    "domain_orderings": {"taxi": 1.0},
    "slot_probability": {"taxi": {"info": {}, "reqt": {"phone": 1.0}}},
    "slot_combinations": {"taxi": {"info": {}}},
    "value_distribution": {
        "taxi": {
            "info": {
                **{"leaveAt": {"09:00": 1.0}, "arriveBy": {"12:00": 1.0}},
                **{"departure": {"a": 1.0, "b": 1.0}, "destination": {"a": 1.0}},
            }
        }
    },
    "book_probability": {"taxi": 0.0},
}


@pytest.mark.parametrize("given", ["", "leaveAt", "arriveBy|leaveAt"])
def test_a_journey_has_one_time(given: str) -> None:
    """Of two, the time of arrival goes as often as the time of departure is asked for."""
    shares = {"leaveAt": 0.8, "arriveBy": 0.2, "departure": 1.0, "destination": 1.0}
    plain = {
        **TAXI,
        "slot_probability": {"taxi": {"info": shares, "reqt": {"phone": 1.0}}},
        "slot_combinations": {"taxi": {"info": {given: 1}}},
    }
    model, rng = GoalModel(plain, ActDatabase({})), Random(3)
    seen: Counter[str] = Counter()
    for _ in range(500):
        info = model.sample(rng)["taxi"]["info"]
        assert info.keys() >= {"departure", "destination"}
        seen.update(info.keys() & {"leaveAt", "arriveBy"})
    assert seen.total() == 500
    assert seen["leaveAt"] == 500 if given == "leaveAt" else 350 < seen["leaveAt"] < 450


def as_published(plain: dict[str, Any]) -> tuple[Any, ...]:
    """Return the parts as the public generator keeps them: tuples as keys, and counters."""
    orderings = {tuple(key.split("|")): share for key, share in plain["domain_orderings"].items()}
    combinations = {
        domain: {
            part: {tuple(filter(None, key.split("|"))): n for key, n in counts.items()}
            for part, counts in of.items()
        }
        for domain, of in plain["slot_combinations"].items()
    }
    values = {
        domain: {
            part: Counter(of[part])
            if part == "reqt"
            else {slot: Counter(counts) for slot, counts in of[part].items()}
            for part in of
        }
        for domain, of in plain["value_distribution"].items()
    }
    made = {
        "domain_orderings": Counter(orderings),
        "slot_combinations": combinations,
        "value_distribution": values,
    }
    return tuple(made.get(part, plain[part]) for part in PARTS)


@pytest.mark.integration
@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
def test_the_pickle_is_read_as_the_json(protocol: int, tmp_path: Path) -> None:
    plain = read_json(shared("data", "live", "goal_model.json"))
    pickled = tmp_path / "new_goal_model.pkl"
    pickled.write_bytes(pickle.dumps(as_published(plain), protocol))
    model = read_goal_model(pickled)
    assert json.dumps(model) == json.dumps({part: plain[part] for part in PARTS})
    assert read_goal_model(shared("data", "live", "goal_model.json")) == plain


class Runs:
    """Unpickled as it is meant to be, it would write a file."""

    def __init__(self, place: Path) -> None:
        self._place = place

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self._place,)


@pytest.mark.parametrize(
    ("file", "content"),
    [
        *(("model.pkl", content) for content in (b"", b"not a pickle", pickle.dumps([1, 2]))),
        ("model.pkl", pickle.dumps(tuple({} for _ in range(7)))),
        ("domain_orderings", pickle.dumps(({}, {}, 3, {}, {}, {}))),
        *(("model.json", text) for text in (b"[]", b"{}", b'{"domain_orderings": []}', b"{")),
    ],
)
def test_what_is_no_goal_model_is_refused(file: str, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / (file if "." in file else "model.pkl")
    path.write_bytes(content)
    with pytest.raises(DataError, match=file):
        read_goal_model(path)


def test_code_in_a_pickle_is_not_run(tmp_path: Path) -> None:
    path, touched = tmp_path / "model.pkl", tmp_path / "touched"
    path.write_bytes(pickle.dumps((Runs(touched), {}, {}, {}, {}, {})))
    with pytest.raises(DataError, match="touch"):
        read_goal_model(path)
    assert not touched.exists()


@pytest.mark.parametrize("weight", [10**400, "0.5", None, -1, [1]])
def test_a_weight_that_is_no_probability_is_named(weight: object, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    model = {part: {"hotel": {"info": {"area": 0.5}}} for part in PARTS}
    model["value_distribution"] = {"hotel": {"info": {"area": weight}}}  # type: ignore[dict-item]
    path.write_text(json.dumps(model))
    with pytest.raises(DataError, match="value_distribution, hotel, info, area"):
        read_goal_model(path)


def test_a_model_is_estimated_by_counting() -> None:
    north = {"info": {"area": "north"}, "reqt": ["phone"], "book": {"day": "monday"}}
    anywhere = {"info": {"area": "south", "stars": "4"}, "reqt": ["phone", "address"]}
    goals = [
        {"domain_ordering": ["hotel"], "hotel": north},
        {"domain_ordering": ["hotel", "police"], "hotel": anywhere, "police": {"info": {}}},
    ]
    model = estimated_model(goals)
    assert model["domain_orderings"] == {"hotel": 0.5, "hotel|police": 0.5}
    assert model["slot_combinations"]["hotel"]["info"] == {"area": 1, "area|stars": 1}
    assert model["slot_combinations"]["police"]["info"] == {"": 1}
    assert model["slot_probability"]["hotel"] == {
        "info": {"area": 1.0, "stars": 0.5},
        "reqt": {"phone": 1.0, "address": 0.5},
        "book": {"day": 0.5},
    }
    assert model["value_distribution"]["hotel"]["info"]["area"] == {"north": 1, "south": 1}
    assert model["book_probability"] == {"hotel": 0.5, "police": 0.0}


def test_a_goal_model_that_lacks_a_domain_is_named(tmp_path: Path) -> None:
    path = tmp_path / "goal_model.json"
    path.write_text(json.dumps({**TAXI, "value_distribution": {}}))
    sample = corpus_root(SAMPLE, None, offline=True)
    with pytest.raises(DataError, match=r"goal_model\.json"):
        select_goals(
            "sampled:1", corpus=SAMPLE, root=sample, database=ActDatabase({}), goal_model=path
        )
