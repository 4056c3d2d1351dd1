"""Files with an invalid value at any position are refused with the position, or remain usable."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.crosswoz.checks import Options
from mwzeval.crosswoz.corpus.folds import Gold, load_gold, read_vocabulary
from mwzeval.crosswoz.corpus.names import HOTEL
from mwzeval.crosswoz.corpus.statistics import fold_statistics
from mwzeval.crosswoz.scoring.baselines import gold_file, simulator_file
from mwzeval.crosswoz.scoring.evaluation import evaluate
from mwzeval.crosswoz.scoring.simulation import evaluate_simulation
from mwzeval.crosswoz.systems.sl_policy import Vocabulary, policy_turns
from mwzeval.crosswoz.systems.templates import spellings
from mwzeval.crosswoz.tracks import GOLD_PREVIOUS_STATE, TRACKS
from mwzeval.errors import DataError, InputError
from mwzeval.scores.sheets import to_text
from mwzeval.text import to_json
from tests.crosswoz.logs import dialogue
from tests.crosswoz.small_world import DEPENDENT, ENGLISH, SINGLE, TABLES, small_gold, write_world

Steps = tuple[str | int, ...]
GONE = object()
ODD: tuple[Any, ...] = (
    *([], ["x"], [1], [None], {}, {"x": 1}, None, True, False),
    *(0, -1, 3.5, 1e300, 10**30, float("nan")),
    *("", "x", "\ud800", "免费", "id", "id=9", "id=" + "1" * 5000, "1" * 5000),
    GONE,
)


def paths_in(plain: Any, above: Steps = ()) -> Iterator[Steps]:
    """Yield the path of every nested value, outer values first."""
    yield above
    if isinstance(plain, dict):
        for key, value in plain.items():
            yield from paths_in(value, (*above, key))
    elif isinstance(plain, list):
        for number, value in enumerate(plain):
            yield from paths_in(value, (*above, number))


def with_odd(plain: Any, path: Steps, odd: Any) -> Any:
    """Return a copy with an invalid value at the path, or without the value (`GONE`)."""
    if not path:
        return None if odd is GONE else odd
    copy = deepcopy(plain)
    holder = copy
    for key in path[:-1]:
        holder = holder[key]
    if odd is GONE:
        del holder[path[-1]]
    else:
        holder[path[-1]] = odd
    return copy


VOCABULARY = ["General+bye+none+none", "Inform+景点+名称+1"]
FILES: dict[str, Any] = {
    "test.json": json.loads(json.dumps({"1": DEPENDENT, "2": SINGLE})),
    **{f"database/{ENGLISH[domain]}_db.json": rows for domain, rows in TABLES.items()},
    "sys_da_voc.json": VOCABULARY,
}
LOG = [
    dialogue("a", "1", turns=[{"user_acts": ["Inform+景点+门票+免费"], "system_acts": []}]),
    dialogue("b", "2"),
]
GOLD = small_gold()


def changed(files: dict[str, Any]) -> st.SearchStrategy[tuple[str, Steps, Any]]:
    """Draw a file, a path in it, and the new value."""
    places = {name: list(paths_in(plain)) for name, plain in files.items()}
    return st.sampled_from(sorted(files)).flatmap(
        lambda name: st.tuples(st.just(name), st.sampled_from(places[name]), st.sampled_from(ODD))
    )


def gold_predictions(gold: Gold) -> dict[str, Any]:
    return {
        name: gold_file(
            gold.fold,
            name,
            list(dict.fromkeys((*track.required, *track.optional))) or ["response", "system_acts"],
            conditioning=GOLD_PREVIOUS_STATE,
        )
        for name, track in TRACKS.items()
    }


def use(gold: Gold, predictions: Any) -> None:
    options = Options(lenient=True, allow_partial=True)
    evaluated = evaluate(predictions, gold, options)
    to_json(evaluated.report().to_dict()).encode()
    list(evaluated.explain_all())


@given(changed(FILES))
def test_damaged_corpora_are_refused_on_loading_or_remain_usable(
    tmp_path_factory: pytest.TempPathFactory, change: tuple[str, Steps, Any]
) -> None:
    name, path, odd = change
    folder = write_world(tmp_path_factory.mktemp("world"))
    (folder / name).write_text(json.dumps(with_odd(FILES[name], path, odd)), "utf-8")
    try:
        gold = load_gold(data=folder)
    except DataError as error:
        told = str(error)
    else:
        used_as_gold(gold)
        return
    assert told.startswith(str(folder / name))


def used_as_gold(gold: Gold) -> None:
    for predictions in (*gold_predictions(gold).values(), *gold_predictions(GOLD).values()):
        # Predictions for one corpus may be invalid for the other.
        with suppress(InputError):
            use(gold, predictions)
    dialogues = gold.fold.dialogues.values()
    to_text(fold_statistics(gold.fold))
    simulator_file(gold.fold, 1)
    for gold_dialogue in dialogues:
        list(policy_turns(gold_dialogue, gold.database, Vocabulary.mined(dialogues)))
    spellings(gold.database)


@given(changed(gold_predictions(GOLD)))
def test_damaged_predictions_are_refused_or_remain_usable(change: tuple[str, Steps, Any]) -> None:
    name, path, odd = change
    predictions = with_odd(gold_predictions(GOLD)[name], path, odd)
    with suppress(InputError):
        use(GOLD, predictions)


@given(changed({"log": LOG}))
def test_damaged_simulation_logs_are_refused_or_remain_usable(
    tmp_path_factory: pytest.TempPathFactory, change: tuple[str, Steps, Any]
) -> None:
    _, path, odd = change
    plain = with_odd(LOG, path, odd)
    log = tmp_path_factory.mktemp("log") / "log.jsonl"
    lines = plain if isinstance(plain, list) else [plain]
    log.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    with suppress(InputError):
        evaluated = evaluate_simulation(log, GOLD, Options(lenient=True))
        to_json(evaluated.report().to_dict()).encode()
        list(evaluated.explain_all())


PLACES: list[tuple[str, Steps, Any, str]] = [
    ("hotel_db.json", (0, 1, "价格"), [1], 'venue "客栈", 价格'),
    ("hotel_db.json", (0, 1, "酒店设施"), "x", "酒店设施"),
    ("hotel_db.json", (0, 1, "酒店设施", 0), None, "酒店设施"),
    ("hotel_db.json", (0, 0), 5, "venue 0"),
    ("hotel_db.json", (0, 1), [], 'venue "客栈"'),
    ("hotel_db.json", (0, 1, "酒店类型"), "\ud800", "1, 酒店类型"),
    ("test.json", ("1", "goal", 0, 3), 5, '"1": goal'),
    ("test.json", ("1", "final_goal", 0), GONE, "final_goal"),
    ("test.json", ("1", "messages", 2, "user_state", 0), GONE, "turn 2, user_state"),
    ("test.json", ("1", "goal", 0, 1), "x", 'goal: .*"x"'),
    ("test.json", ("1", "messages", 1, "sys_state", HOTEL, "价格"), 5, "turn 1, sys_state, 酒店"),
    ("test.json", ("1", "messages", 0, "content"), None, "turn 0, content"),
    ("test.json", ("1", "messages", 0, "role"), GONE, "turn 0, role"),
    ("test.json", ("1", "messages", 0, "dialog_act", 0), ["a"], "dialog_act"),
    ("sys_da_voc.json", (1,), 7, "act 1"),
    ("sys_da_voc.json", (1,), "a+b+c+\ud800", ", 1"),
    ("sys_da_voc.json", (1,), "Inform", 'act 1, "Inform"'),
    ("sys_da_voc.json", (1,), VOCABULARY[0], ""),
]


@pytest.mark.parametrize(("name", "path", "odd", "place"), PLACES)
def test_errors_in_corpus_files_name_the_file_and_the_position(
    tmp_path: Path, name: str, path: Steps, odd: Any, place: str
) -> None:
    file = write_world(tmp_path / "world") / ("database" if "_db" in name else "") / name
    plain = FILES[str(file.relative_to(tmp_path / "world"))]
    file.write_text(json.dumps(with_odd(plain, path, odd)), "utf-8")
    with pytest.raises(DataError, match=f"{name}.*{place}"):
        load_gold(data=tmp_path / "world")


def test_escaped_surrogate_pairs_are_read_as_text(tmp_path: Path) -> None:
    file = tmp_path / "usr_da_voc.json"
    file.write_text(r'["Inform+a+b+\ud83d\ude00"]', "utf-8")
    assert read_vocabulary(file) == ("Inform+a+b+😀",)
