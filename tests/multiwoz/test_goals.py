"""Goals of the corpus in the public format, and goals sampled like the public generator."""

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
from mwzeval.files.downloads import DataRoot, embedded
from mwzeval.multiwoz import SAMPLE
from mwzeval.multiwoz.convlab.resources import ActDatabase, load_act_database
from mwzeval.multiwoz.corpus import corpus_root
from mwzeval.multiwoz.goals import (
    ORDERING,
    PARTS,
    Goal,
    GoalModel,
    RunGoals,
    annotated_goals,
    begun,
    estimated_model,
    given_goal,
    goal_of,
    parse_goal_source,
    read_goal_model,
    select_goals,
    without,
)
from mwzeval.multiwoz.live.wordings import goal_sentences, sentences_for
from tests.multiwoz.convlab.records import golden, real_database
from tests.places import read_json, shared

MULTIWOZ = "multiwoz-2.1"
RESTAURANT = {
    "info": {"food": "thai", "area": "west"},
    "fail_info": {"food": "thai", "area": "moon"},
    "book": {"time": "17:30", "people": "8", "invalid": False, "pre_invalid": True},
    "fail_book": {"time": "18:30"},
}
TRAIN = {"info": {"day": "monday"}, "reqt": ["price", "duration"], "fail_info": {}}
ANNOTATED: dict[str, Any] = {
    "restaurant": RESTAURANT,
    "train": TRAIN,
    "police": {},
    "message": ["You need a <span>TRAIN</span>.", "Then a place to dine", "and a restaurant"],
}
READ: Goal = {
    "domain_ordering": ["train", "restaurant"],
    "train": {"info": {"day": "monday"}, "reqt": ["price", "duration"]},
    "restaurant": {
        "info": {"food": "thai", "area": "west"},
        "fail_info": {"food": "thai", "area": "moon"},
        "book": {"time": "17:30", "people": "8"},
        "fail_book": {"time": "18:30", "people": "8"},
    },
}


def test_goal_domains_follow_the_order_of_the_message() -> None:
    assert goal_of(ANNOTATED) == READ
    with pytest.raises(ValueError, match="train"):
        goal_of({**ANNOTATED, "message": "Find a restaurant"})


def test_goal_parts_are_removed_only_from_a_copy() -> None:
    before = json.dumps(READ)
    copy = without(READ, "fail_info", ["restaurant"])
    info, _, book, fail_book = READ["restaurant"].values()
    changed = {**READ, "restaurant": {"info": info, "book": book, "fail_book": fail_book}}
    assert json.dumps(copy) == json.dumps(changed)
    assert json.dumps(READ) == before


def test_dialogues_start_with_a_goal_copy_without_answers() -> None:
    before = json.dumps(READ)
    copy = begun(READ)
    assert copy == {
        "domain_ordering": ["train", "restaurant"],
        "train": {"info": {"day": "monday"}, "reqt": {"price": "?", "duration": "?"}},
        "restaurant": {**READ["restaurant"], "booked": "?"},
    }
    copy["restaurant"]["info"]["area"] = "east"
    copy[ORDERING].pop()
    assert json.dumps(READ) == before


def test_corpus_files_without_goal_messages_are_rejected(tmp_path: Path) -> None:
    place = tmp_path / "data" / "MultiWOZ_2.1" / "test.json"
    place.parent.mkdir(parents=True)
    place.write_text(json.dumps({"SNG1.json": {"goal": {"train": TRAIN}, "log": []}}))
    root = corpus_root(MULTIWOZ, tmp_path, offline=True)
    with pytest.raises(DataError, match=r"test\.json.*sng1"):
        annotated_goals(MULTIWOZ, "test", root)


def test_corpus_goals_are_read_in_all_formats() -> None:
    """The formats are the annotation, the goal, and the user's copy of the goal."""
    known = annotated_goals(SAMPLE, "test", sample_root())
    annotated = {
        name.removesuffix(".json").lower(): dialogue["goal"]
        for name, dialogue in read_json(next(embedded("sample").rglob("data.json"))).items()
    }
    assert len(known) > 30
    for name, record in known.items():
        goal, given = record.goal, given_goal(annotated[name])
        assert given_goal(goal) == given_goal(begun(goal)) == goal
        assert {**given, ORDERING: None} == {**goal, ORDERING: None}
        assert sorted(given[ORDERING]) == sorted(goal[ORDERING])


def test_other_goal_keys_are_ignored_and_numbers_become_text() -> None:
    book = {"people": 3, "day": ["monday", "friday"], "invalid": False, "pre_invalid": True}
    assert given_goal({"message": ["…"], "topic": {}, "police": {}, "hotel": {"book": book}}) == {
        "domain_ordering": ["hotel"],
        "hotel": {"info": {}, "book": {"people": "3", "day": "monday"}},
    }


HOTEL = {"info": {"area": "north"}, "reqt": ["phone"]}


@pytest.mark.parametrize(
    ("raw", "place"),
    [
        (3, "hotel"),
        ({}, "restaurant"),
        ({"hotels": HOTEL}, '"hotel"'),
        ({"hotel": {}}, '"hotel"'),
        ({"hotel": ["area"]}, "hotel:"),
        ({"hotel": {"info": ["area"]}}, "hotel.info:"),
        ({"hotel": {"info": {"area": None}}}, "hotel.info.area:"),
        ({"hotel": {"book": {"stay": True}}}, "hotel.book.stay:"),
        ({"hotel": {"reqt": "phone"}}, "hotel.reqt:"),
        ({"hotel": HOTEL, "domain_ordering": ["hotel", "train"]}, "domain_ordering"),
        ({"hotel": HOTEL, "domain_ordering": 3}, "domain_ordering"),
    ],
)
def test_errors_name_the_location_in_an_invalid_goal(raw: Any, place: str) -> None:
    with pytest.raises(ValueError, match=place):
        given_goal(raw)


# Sentences


@pytest.mark.parametrize(
    ("corpus", "source", "number"),
    [
        (SAMPLE, "corpus-raw", 62),
        (SAMPLE, "corpus-raw:dev", 10),
        (SAMPLE, "sampled:100", 100),
        pytest.param(MULTIWOZ, "corpus-raw", 1000, marks=pytest.mark.integration),
        pytest.param(MULTIWOZ, "corpus:dev", 999, marks=pytest.mark.integration),
        pytest.param(MULTIWOZ, "sampled:300", 300, marks=pytest.mark.integration),
    ],
)
def test_goal_sentences_contain_every_value_of_a_domain(
    corpus: str, source: str, number: int
) -> None:
    selected = selected_goals(source, corpus, refused_bookings=True).goals
    assert len(selected) == number
    for goal in selected.values():
        assert goal.keys() - {ORDERING} == set(goal[ORDERING])
        for domain in goal[ORDERING]:
            part = goal[domain]
            text = " ".join(goal_sentences({ORDERING: [domain], domain: part}))
            for name in ("info", "fail_info", "book", "fail_book"):
                for slot, value in part.get(name, {}).items():
                    assert (slot if slot in ("internet", "parking") else value) in text
            assert ("Ask for " in text) == ("reqt" in part)
            assert "{" not in text
            assert ".." not in text


INN: dict[str, Any] = {
    "info": {"area": "north", "stars": "4", "parking": "yes", "internet": "no"},
    "fail_info": {"area": "north", "stars": "1", "parking": "no", "internet": "no"},
    "reqt": ["phone", "internet", "entrance fee"],
    "book": {"stay": "1", "people": "1", "day": "monday"},
    "fail_book": {"stay": "3", "people": "1", "day": "monday"},
}
BISTRO: dict[str, Any] = {
    "info": {"food": "dontcare", "name": "ask"},
    "book": {"time": "18:15", "people": "2", "day": "friday"},
}


def test_goal_sentences_have_the_expected_wording() -> None:
    goal = {
        ORDERING: ["hotel", "restaurant", "taxi", "police"],
        "hotel": INN,
        "restaurant": BISTRO,
        "taxi": {"info": {"arriveBy": "18:15"}, "reqt": ["car type"]},
        "police": {"info": {}, "reqt": ["postcode"]},
    }
    assert goal_sentences(goal) == [
        "You need a place to stay.",
        "It should be in the north and have no parking.",
        "It should have 1 star and have no internet.",
        "If there is none, look for one that should have 4 stars and have parking instead.",
        "Book a room for 1 person for 3 nights from monday, and get the reference number.",
        "If that cannot be booked, book for 1 night instead.",
        "Ask for the phone number, whether there is internet and the entrance fee.",
        "You are also looking for a restaurant.",
        "It should be called ask.",
        "Any kind of food will do.",
        "Book a table for 2 people at 18:15 on friday, and get the reference number.",
        "You also need a taxi from the hotel to the restaurant.",
        "It should arrive by 18:15.",
        "Ask for the car type.",
        "You also need help from the police.",
        "Ask for the postcode.",
    ]
    given_up = {"info": {"food": "thai"}, "fail_info": {"food": "thai", "area": "moon"}}
    (*_, last) = goal_sentences({ORDERING: ["restaurant"], "restaurant": given_up})
    assert last == "If there is none, you do not mind the area."
    taxi = {"info": {"departure": "ely", "leaveAt": "09:00"}, "reqt": ["phone"]}
    goal = {ORDERING: ["attraction", "taxi"], "attraction": {"info": {}}, "taxi": taxi}
    assert goal_sentences(goal)[1:3] == [
        "You also need a taxi to the attraction.",
        "It should leave from ely and leave at 09:00 or later.",
    ]


# Selected goals


def sample_root() -> DataRoot:
    return corpus_root(SAMPLE, None, offline=True)


def sample_database() -> ActDatabase:
    return load_act_database(sample_root())


def selected_goals(source: str, corpus: str = SAMPLE, **options: Any) -> RunGoals:
    if corpus == SAMPLE:
        root, database = sample_root(), sample_database()
    else:
        root = corpus_root(corpus, shared("data", "multiwoz"), offline=True)
        database = real_database()
    return select_goals(source, corpus=corpus, root=root, database=database, **options)


def count_parts(goals: RunGoals, name: str) -> int:
    return sum(name in goal[domain] for goal in goals.goals.values() for domain in goal[ORDERING])


@pytest.mark.integration
def test_corpus_goals_match_the_public_conversion() -> None:
    """Goals include the order of domains and slots; satisfiable first constraints are removed."""
    raw, corrected = (selected_goals(source, MULTIWOZ) for source in ("corpus-raw", "corpus"))
    expected = {record["dialogue"].lower(): record for record in golden("corpus_goals")}
    assert list(corrected.goals) == list(raw.goals) == list(expected)
    for name, record in expected.items():
        assert json.dumps(raw.goals[name]) == json.dumps(record["goal"])
        wanted = without(record["goal"], "fail_info", record["drop_fail_info"])
        assert corrected.goals[name] == wanted
    assert [count_parts(goals, "fail_info") for goals in (raw, corrected)] == [394, 394 - 181]
    assert (raw.source, corrected.source) == ("corpus-raw:test", "corpus:test")
    assert raw.sha != corrected.sha
    # Only unmodified goals have the sentences of the corpus, which mention every constraint.
    whole = selected_goals("corpus-raw", MULTIWOZ, refused_bookings=True)
    assert [count_parts(goals, "fail_book") for goals in (whole, corrected)] == [80, 0]
    for goal in whole.goals.values():
        for part in (goal[domain] for domain in goal[ORDERING] if "fail_book" in goal[domain]):
            assert part["fail_book"].keys() == part["book"].keys()
    assert whole.messages.keys() == whole.goals.keys()
    assert not any("<" in text for message in whole.messages.values() for text in message)
    exact = {name for name, goal in whole.goals.items() if goal == corrected.goals[name]}
    assert corrected.messages.keys() == exact


def test_goals_are_selected_by_number_or_id() -> None:
    everything = selected_goals("corpus")
    first = selected_goals("corpus:test:50")
    assert list(first.goals.items()) == list(everything.goals.items())[:50]
    ids = list(everything.goals)[7:9]
    chosen = selected_goals(f"corpus:{ids[1].upper()},{ids[0]}.json")
    assert list(chosen.goals) == [ids[1], ids[0]]
    assert chosen.source == f"corpus:test:{ids[1]},{ids[0]}"
    assert selected_goals(chosen.source).sha == chosen.sha


@pytest.mark.parametrize(
    ("source", "named"), [("corpus:smp002", r'"smp002".*"smp0\d+"'), ("corpus:1001", "62.*1,001")]
)
def test_errors_describe_unavailable_goals(source: str, named: str) -> None:
    with pytest.raises(UsageError, match=named):
        selected_goals(source)


@pytest.mark.parametrize(
    "text",
    [
        *("", "corpse", "sampled", "sampled:dev:3", "sampled:0", "sampled:٣", "sampled:1000001"),
        *("corpus:test:1:2", "corpus:test:", "corpus:-3", "corpus:٣", "corpus:9" + "9" * 5000),
    ],
)
def test_invalid_goal_sources_are_rejected(text: str) -> None:
    with pytest.raises(UsageError, match=f'"{text[:20]}.*1,000,000'):
        parse_goal_source(text)


def test_sampled_goals_depend_only_on_seed_and_number() -> None:
    few, more = (selected_goals(f"sampled:{number}", seed=3) for number in (5, 20))
    assert list(few.goals) == [f"sampled-000{number}" for number in range(1, 6)]
    assert few.goals.items() <= more.goals.items()
    assert selected_goals("sampled:5", seed=4).goals != few.goals
    assert not few.messages
    for item, goal in few.goals.items():
        assert sentences_for(few, item) == goal_sentences(goal)
    annotated = selected_goals("corpus-raw:dev")
    assert annotated.messages
    for item, message in annotated.messages.items():
        assert sentences_for(annotated, item) == list(message)


@pytest.mark.parametrize(
    ("source", "number"),
    [("corpus", 62), ("corpus-raw:dev", 10), ("corpus:train:2", 2), ("sampled:300", 300)],
)
def test_sample_goals_are_satisfiable(source: str, number: int) -> None:
    goals = selected_goals(source).goals
    assert len(goals) == number
    drawn = "sampled" in source
    check_constraints(goals.values(), sample_database(), raw="raw" in source, drawn=drawn)


def check_constraints(
    goals: Iterable[Goal], database: ActDatabase, *, raw: bool, drawn: bool
) -> None:
    """Check that first constraints are unsatisfiable and the other constraints satisfiable."""
    for goal in goals:
        for part, domain in ((goal[domain], domain) for domain in goal[ORDERING]):
            first = part.get("fail_info")
            assert raw or first is None or not database.query(domain, first.items())
            if drawn:
                assert "reqt" in part or "book" in part
                assert database.query(domain, part["info"].items())
                assert first is None or len(first.items() - part["info"].items()) == 1


# Sampled goals

GOALS = 10_000


@pytest.fixture(scope="module")
def drawn() -> list[Goal]:
    model = GoalModel(read_json(shared("data", "live", "goal_model.json")), real_database())
    return [model.sample(Random(f"7/{number}")) for number in range(GOALS)]


def counts_of(goals: Iterable[Goal]) -> Counter[str]:
    """Count goals by property, with the names of the golden statistics."""
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
    """Yield values that domains of a goal have in common."""
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
def test_sampled_goal_frequencies_match_the_published_statistics(drawn: list[Goal]) -> None:
    statistics = read_json(shared("golden", "live", "goal_statistics.json"))
    assert statistics["n"] == GOALS
    # Names with "#" are sums of other counts (the slots of a part).
    expected = {name: n for name, n in statistics["counts"].items() if not name.endswith("#")}
    counts = counts_of(drawn)
    assert counts.keys() == expected.keys()
    deviations = {}
    for name, number in expected.items():
        share = (number + counts[name]) / (2 * GOALS)
        spread = math.sqrt(2 * GOALS * share * (1 - share))
        deviations[name] = (counts[name] - number) / spread if spread else 0.0
    # The largest of 132 normal deviates exceeds 4 in one of 100 runs; their spread is 1.
    assert {name: z for name, z in deviations.items() if abs(z) > 4} == {}
    assert math.sqrt(sum(z * z for z in deviations.values()) / len(deviations)) < 1.25


def shapes_of(goal: Goal) -> Iterator[tuple[str, ...]]:
    for domain in goal[ORDERING]:
        yield (domain, *goal[domain])
        yield from ((domain, part, *slots) for part, slots in goal[domain].items())


@pytest.mark.integration
def test_sampled_parts_and_slots_have_the_published_order(drawn: list[Goal]) -> None:
    known = {shape for goal in drawn for shape in shapes_of(goal)}
    published = {shape for goal in golden("goals_sampled") for shape in shapes_of(goal)}
    assert published
    assert published <= known


@pytest.mark.integration
def test_domains_of_a_sampled_goal_are_consistent(drawn: list[Goal]) -> None:
    check_constraints(drawn, real_database(), raw=False, drawn=True)
    week = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
    seen: Counter[str] = Counter()
    for goal in drawn:
        taxi, hotel = goal.get("taxi"), goal.get("hotel", {}).get("book")
        restaurant = goal.get("restaurant", {}).get("book")
        if taxi and restaurant and goal[ORDERING][-2] == "restaurant":
            assert taxi["info"] == {"arriveBy": restaurant["time"]}
            seen["taxi"] += 1
        if hotel and "train" in goal:
            train = goal["train"]["info"]
            towards = train["destination"] == "cambridge"
            assert towards or train["departure"] == "cambridge"
            day = week.index(hotel["day"]) + (0 if towards else int(hotel["stay"]))
            assert train["day"] == week[day % 7]
            seen["to" if towards else "from"] += 1
    assert seen.keys() == {"taxi", "to", "from"}


TAXI: dict[str, Any] = {
    "domain_orderings": {"taxi": 1.0},
    "slot_probability": {
        "taxi": {
            "info": {"leaveAt": 0.8, "arriveBy": 0.2, "departure": 1.0, "destination": 1.0},
            "reqt": {"phone": 1.0},
        }
    },
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
def test_sampled_taxi_goals_have_exactly_one_time(given: str) -> None:
    """Of two times, the arrival time is removed with the frequency of departure times."""
    plain = {**TAXI, "slot_combinations": {"taxi": {"info": {given: 1}}}}
    model, rng = GoalModel(plain, ActDatabase({})), Random(3)
    seen: Counter[str] = Counter()
    for _ in range(500):
        info = model.sample(rng)["taxi"]["info"]
        assert info.keys() >= {"departure", "destination"}
        seen.update(info.keys() & {"leaveAt", "arriveBy"})
    assert seen.total() == 500
    assert seen["leaveAt"] == 500 if given == "leaveAt" else 350 < seen["leaveAt"] < 450


# Files of the goal model


@pytest.mark.parametrize("protocol", [0, 3, 5])
def test_published_goal_model_pickles_are_read(protocol: int, tmp_path: Path) -> None:
    times = {"taxi": {"info": {"leaveAt": Counter({"09:00": 2, "10:00": 1})}, "reqt": {}}}
    orderings = Counter({("taxi",): 2, ("hotel", "taxi"): 1})
    combinations = {"taxi": {"info": {("arriveBy", "leaveAt"): 3, (): 1}}}
    published: tuple[Any, ...] = (
        {"taxi": {"info": {"leaveAt": 0.5}}},
        times,
        orderings,
        {"taxi": 0},
        {},
        combinations,
    )
    file = tmp_path / "new_goal_model.pkl"
    file.write_bytes(pickle.dumps(published, protocol))
    assert read_goal_model(file) == {
        "slot_probability": {"taxi": {"info": {"leaveAt": 0.5}}},
        "value_distribution": {"taxi": {"info": {"leaveAt": {"09:00": 2, "10:00": 1}}, "reqt": {}}},
        "domain_orderings": {"taxi": 2, "hotel|taxi": 1},
        "book_probability": {"taxi": 0},
        "slot_counts": {},
        "slot_combinations": {"taxi": {"info": {"arriveBy|leaveAt": 3, "": 1}}},
    }


def weighted(weight: object) -> bytes:
    model: dict[str, Any] = {part: {"hotel": {"info": {"area": 0.5}}} for part in PARTS}
    model["value_distribution"] = {"hotel": {"info": {"area": weight}}}
    return json.dumps(model).encode()


@pytest.mark.parametrize(
    ("file", "content", "named"),
    [
        *(("model.pkl", content, "") for content in (b"", b"not a pickle", pickle.dumps([1, 2]))),
        ("model.pkl", pickle.dumps(tuple({} for _ in range(7))), ""),
        ("model.pkl", pickle.dumps(({}, {}, 3, {}, {}, {})), ".*domain_orderings"),
        *(("model.json", text, "") for text in (b"[]", b"{}", b'{"domain_orderings": []}', b"{")),
        *(
            ("model.json", weighted(weight), ".*value_distribution, hotel, info, area")
            for weight in (10**400, "0.5", None, -1, [1])
        ),
    ],
)
def test_invalid_goal_models_are_rejected(
    file: str, content: bytes, named: str, tmp_path: Path
) -> None:
    path = tmp_path / file
    path.write_bytes(content)
    with pytest.raises(DataError, match=f"{file}{named}"):
        read_goal_model(path)


class Runs:
    """An object that creates a file when the standard unpickler loads it."""

    def __init__(self, place: Path) -> None:
        self._place = place

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self._place,)


def test_pickled_code_is_not_executed(tmp_path: Path) -> None:
    path, touched = tmp_path / "model.pkl", tmp_path / "touched"
    path.write_bytes(pickle.dumps((Runs(touched), {}, {}, {}, {}, {})))
    with pytest.raises(DataError, match="touch"):
        read_goal_model(path)
    assert not touched.exists()


def test_goal_models_with_missing_domains_are_rejected(tmp_path: Path) -> None:
    path = tmp_path / "goal_model.json"
    path.write_text(json.dumps({**TAXI, "value_distribution": {}, "slot_combinations": {}}))
    with pytest.raises(DataError, match=r"goal_model\.json"):
        selected_goals("sampled:1", goal_model=path)


@pytest.mark.integration
def test_goal_model_is_found_in_the_data_or_named_in_the_error() -> None:
    file = shared("data", "live", "goal_model.json")
    sampled = selected_goals("sampled:5", MULTIWOZ)
    assert selected_goals("sampled:5", MULTIWOZ, goal_model=file) == sampled
    bare = corpus_root(MULTIWOZ, shared("data", "multiwoz", "db"), offline=True)
    with pytest.raises(DataError, match=r"new_goal_model\.pkl"):
        select_goals("sampled:1", corpus=MULTIWOZ, root=bare, database=real_database())


def test_goal_model_is_estimated_from_counts() -> None:
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
