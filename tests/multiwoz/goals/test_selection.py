"""The goals of a run are those that one text asks for, on the real corpus and on the sample."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mwzeval.errors import DataError, UsageError
from mwzeval.files.downloads import DataRoot
from mwzeval.multiwoz.choices import SAMPLE
from mwzeval.multiwoz.convlab.resources import load_act_database
from mwzeval.multiwoz.corpus import corpus_root
from mwzeval.multiwoz.goals.goal import ORDERING, Goal
from mwzeval.multiwoz.goals.selection import RunGoals, parse_goal_source, select_goals
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
    raw, mended = selected(root, "corpus-raw"), selected(root, "corpus")
    expected = {each["dialogue"].lower(): each for each in golden("corpus_goals")}
    assert raw.goals == {name: each["goal"] for name, each in expected.items()}
    assert list(mended.goals) == list(raw.goals)
    for name, goal in mended.goals.items():
        wanted: Goal = dict(expected[name]["goal"])
        for domain in expected[name]["drop_fail_info"]:
            wanted[domain] = {k: v for k, v in wanted[domain].items() if k != "fail_info"}
        assert goal == wanted
    assert (parts(raw, "fail_info"), parts(mended, "fail_info")) == (394, 394 - 181)
    assert (str(raw.source), str(mended.source)) == ("corpus-raw:test", "corpus:test")
    assert raw.sha != mended.sha


@pytest.mark.integration
def test_sentences_are_those_of_goals_that_they_tell_exactly(root: DataRoot) -> None:
    """Who is told of a wish or a booking that is not in the goal would follow the wrong one."""
    whole = selected(root, "corpus-raw", refused_bookings=True)
    assert parts(whole, "fail_book") == 80
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
    ("text", "named"),
    [
        *(("corpse", '"corpse".*"corpus"'), ("", '""'), ("sampled", "sampled")),
        *(("sampled:dev:3", "sampled"), ("sampled:0", '"0"'), ("sampled:٣", "٣")),
        *(("corpus:test:1:2", "1:2"), ("corpus:test:", "corpus:test:"), ("corpus:-3", "-3")),
        ("corpus:9" + "9" * 5000, "1,000,000"),
    ],
)
def test_a_text_that_means_no_goals_is_refused(text: str, named: str) -> None:
    with pytest.raises(UsageError, match=named):
        parse_goal_source(text)


def test_sampled_goals_follow_from_the_seed_and_their_number() -> None:
    few, more = (in_town(f"sampled:{number}", seed=3) for number in (5, 20))
    assert list(few.goals) == [f"sampled-000{number}" for number in range(1, 6)]
    assert few.goals.items() <= more.goals.items()
    assert in_town("sampled:5", seed=4).goals != few.goals
    assert not few.messages


@pytest.mark.integration
def test_the_goal_model_of_the_data_is_that_of_its_file(root: DataRoot) -> None:
    file = shared("data", "live", "goal_model.json")
    assert selected(root, "sampled:5", goal_model=file) == selected(root, "sampled:5")


def test_the_sample_town_has_goals_of_every_kind() -> None:
    database = load_act_database(corpus_root(SAMPLE, None, offline=True))
    counts = {}
    for source in ("corpus", "corpus-raw:dev", "corpus:train:2", "sampled:300"):
        goals = in_town(source).goals
        counts[source] = len(goals)
        for goal in goals.values():
            for domain in goal[ORDERING]:
                if source != "corpus-raw:dev" and "fail_info" in goal[domain]:
                    assert not database.query(domain, goal[domain]["fail_info"].items())
                if source == "sampled:300":
                    assert database.query(domain, goal[domain]["info"].items())
    assert counts == {"corpus": 62, "corpus-raw:dev": 10, "corpus:train:2": 2, "sampled:300": 300}


@pytest.mark.integration
def test_a_missing_goal_model_is_named_with_its_address(root: DataRoot) -> None:
    bare = DataRoot(shared("data", "multiwoz", "db"), "--data", root.published)
    with pytest.raises(DataError, match=r"new_goal_model\.pkl"):
        select_goals("sampled:1", corpus=MULTIWOZ, root=bare, database=real_database())


@pytest.mark.integration
def test_a_goal_model_of_another_form_is_named(root: DataRoot, tmp_path: Path) -> None:
    plain = read_json(shared("data", "live", "goal_model.json"))
    del plain["value_distribution"]["hotel"]
    path = tmp_path / "goal_model.json"
    path.write_text(json.dumps(plain))
    with pytest.raises(DataError, match=r"goal_model\.json"):
        selected(root, "sampled:1", goal_model=path)
