"""The goals of a run are those that one text asks for, on the real corpus and on the sample."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mwzeval.errors import DataError, UsageError
from mwzeval.files.downloads import DataRoot
from mwzeval.multiwoz.choices import SAMPLE
from mwzeval.multiwoz.convlab.act_database import ActDatabase
from mwzeval.multiwoz.convlab.resources import load_act_database
from mwzeval.multiwoz.corpus.corpora import corpus_root
from mwzeval.multiwoz.goals.goals import ORDERING, Goal
from mwzeval.multiwoz.goals.selection import RunGoals, parse_goal_source, select_goals
from tests.multiwoz.convlab.records import golden, real_database
from tests.places import read_json, shared

MULTIWOZ = "multiwoz-2.1"


@pytest.fixture(scope="module")
def root() -> DataRoot:
    return corpus_root(MULTIWOZ, shared("data", "multiwoz"), offline=True)


@pytest.fixture(scope="module")
def town() -> tuple[DataRoot, ActDatabase]:
    sample = corpus_root(SAMPLE, None, offline=True)
    return sample, load_act_database(sample)


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


def test_a_choice_takes_goals_from_the_beginning_or_by_id(root: DataRoot) -> None:
    every = selected(root, "corpus")
    first = selected(root, "corpus:test:50")
    assert list(first.goals.items()) == list(every.goals.items())[:50]
    ids = list(every.goals)[7:9]
    chosen = selected(root, f"corpus:{ids[1].upper()},{ids[0]}.json")
    assert list(chosen.goals) == [ids[1], ids[0]]
    assert chosen.source == f"corpus:test:{ids[1]},{ids[0]}"
    assert selected(root, chosen.source).sha == chosen.sha
    assert len(selected(root, "corpus:dev:3").goals) == 3


def test_goals_that_are_not_there_are_named(root: DataRoot) -> None:
    with pytest.raises(UsageError, match='no dialogue "sng007" in test — did you mean "sng00'):
        selected(root, "corpus:sng007")
    with pytest.raises(UsageError, match="there are 1,000 goals in test, not 1,001"):
        selected(root, "corpus:1001")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("corpse", 'unknown goals "corpse" — did you mean "corpus"'),
        ("", 'unknown goals ""'),
        ("sampled", "say how many"),
        ("sampled:dev:3", "say how many"),
        ("sampled:0", 'a number from 1 to 1,000,000 is expected, not "0"'),
        ("sampled:٣", "a number from 1"),
        ("corpus:-3", 'not "-3"'),
        ("corpus:test:1:2", "are not understood"),
        ("corpus:test:", "are not understood"),
        ("corpus:9" + "9" * 5000, "a number from 1"),
    ],
)
def test_a_text_that_means_no_goals_is_refused(text: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        parse_goal_source(text)


@pytest.mark.integration
def test_sampled_goals_follow_from_the_seed_and_their_number(root: DataRoot) -> None:
    few, more = (selected(root, f"sampled:{number}", seed=3) for number in (5, 20))
    assert list(few.goals) == [f"sampled-000{number}" for number in range(1, 6)]
    assert few.goals.items() <= more.goals.items()
    assert selected(root, "sampled:5", seed=4).goals != few.goals
    file = shared("data", "live", "goal_model.json")
    assert selected(root, "sampled:5", seed=3, goal_model=file) == few
    assert not few.messages


def test_the_sample_town_has_goals_of_every_kind(town: tuple[DataRoot, ActDatabase]) -> None:
    sample, database = town
    counts = {}
    for source in ("corpus", "corpus-raw:dev", "corpus:train:2", "sampled:300"):
        goals = select_goals(source, corpus=SAMPLE, root=sample, database=database).goals
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
    with pytest.raises(DataError, match=r"new_goal_model\.pkl.*\n.*thu-coai/ConvLab-2/b014b81"):
        select_goals("sampled:1", corpus=MULTIWOZ, root=bare, database=real_database())


@pytest.mark.integration
def test_a_goal_model_of_another_form_is_named(root: DataRoot, tmp_path: Path) -> None:
    plain = read_json(shared("data", "live", "goal_model.json"))
    del plain["value_distribution"]["hotel"]
    path = tmp_path / "goal_model.json"
    path.write_text(json.dumps(plain))
    with pytest.raises(DataError, match=r"goal_model\.json: expected the domains"):
        selected(root, "sampled:1", goal_model=path)
