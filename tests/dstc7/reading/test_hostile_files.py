"""Broken, odd and hostile files: every one ends in located problems, none in another exception."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mwzeval.dstc7.baselines.knowledge_files import read_courses, read_man_pages
from mwzeval.dstc7.reading.dialogues import read_examples, read_pool
from mwzeval.dstc7.reading.submission import read_submission
from mwzeval.dstc7.reading.targets import read_targets
from mwzeval.dstc7.reading.tracks import Track
from mwzeval.dstc7.reading.trec import read_qrels, read_run
from mwzeval.dstc7.scoring.evaluation import Gold, Options, evaluate, validate
from mwzeval.errors import InputError, MwzevalError, Problem
from tests.dstc7.cases import UBUNTU
from tests.places import ROOT

FIXTURES = ROOT / "data" / "dstc7"
READERS: dict[str, tuple[Any, str]] = {
    "dialogues": (read_examples, "ubuntu_test_subtask_1.json"),
    "advising dialogues": (read_examples, "advising_dev_subtask_1.json"),
    "targets": (read_targets, "ubuntu_responses_subtask_1.tsv"),
    "pool": (read_pool, "ubuntu_subtask_2_candidates.tsv"),
    "courses": (read_courses, "course-info.json"),
    "man pages": (read_man_pages, "man_pages.jsonl"),
    "submission": (read_submission, "../../predictions/dstc7-overlap/Ubuntu_subtask_1.json"),
    "run": (read_run, "ubuntu_responses_subtask_1.tsv"),
    "qrels": (read_qrels, "ubuntu_responses_subtask_1.tsv"),
}
QUIET = settings(suppress_health_check=[*HealthCheck])

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.just("NONE"),
    st.just(10**400),
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner)
)


@pytest.mark.parametrize("name", READERS)
@QUIET
@given(data=st.data())
def test_damaged_bytes_are_read_or_refused(name: str, data: st.DataObject, tmp_path: Path) -> None:
    read, file = READERS[name]
    content = bytearray((FIXTURES / file).read_bytes()[:20_000])
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content) - 1))
        change = data.draw(st.sampled_from(["cut", "set", "drop", "double"]))
        if change == "cut":
            del content[place + 1 :]
        elif change == "set":
            content[place] = data.draw(st.integers(0, 255))
        elif change == "drop":
            del content[place : place + data.draw(st.integers(1, 50))]
            content = content or bytearray(b" ")
        else:
            content[place:place] = content[place : place + 30]
    path = tmp_path / "hostile"
    path.write_bytes(bytes(content))
    problems: list[Problem | None] = []
    try:
        read(path)
    except InputError as error:
        problems = list(error.problems) or [None]
    assert all(problem is not None and problem.file for problem in problems)


entry = st.one_of(
    values,
    st.fixed_dictionaries({"candidate-id": values}, optional={"confidence": values}),
)
item = st.one_of(
    values,
    st.fixed_dictionaries(
        {"example-id": st.one_of(scalars, st.integers(1, 3))},
        optional={"candidate-ranking": st.one_of(values, st.lists(entry, max_size=4))},
    ),
)


@QUIET
@given(
    raw=st.one_of(values, st.lists(item, max_size=4)),
    strict=st.booleans(),
    metric=st.sampled_from(["ranking", "fscore"]),
    order=st.sampled_from(["list", "confidence"]),
)
def test_any_json_is_scored_or_refused(
    raw: Any, strict: bool, metric: Any, order: Any, tmp_path: Path
) -> None:
    path = tmp_path / "Ubuntu_subtask_1.json"
    path.write_text(json.dumps(raw), encoding="utf-8")
    targets = tmp_path / "t.tsv"
    targets.write_text("1\tA\n2\tB,C\n", encoding="utf-8")
    options = Options(metric=metric, strict=strict, order=order)
    problems = validate(path, Gold(targets), UBUNTU, options)
    errors = [problem for problem in problems if problem.severity == "error"]
    if errors:
        with pytest.raises(InputError) as caught:
            evaluate(path, Gold(targets), UBUNTU, options)
        assert list(caught.value.problems) == errors
    else:
        report = evaluate(path, Gold(targets), UBUNTU, options).report()
        assert all(0 <= score.value <= 1 for score in report.scores)


def test_any_other_file_as_a_submission_is_refused() -> None:
    gold = Gold(FIXTURES / "ubuntu_responses_subtask_1.tsv")
    for other in FIXTURES.iterdir():
        with pytest.raises(InputError) as caught:
            evaluate(other, gold, UBUNTU)
        assert caught.value.problems[0].file


@pytest.mark.parametrize("kind", ["targets", "dialogues", "pool"])
def test_any_other_file_in_the_place_of_gold_data_ends_well(kind: str) -> None:
    files: dict[str, Any] = {
        "targets": FIXTURES / "ubuntu_responses_subtask_2.tsv",
        "dialogues": FIXTURES / "ubuntu_test_subtask_2.json",
        "pool": FIXTURES / "ubuntu_subtask_2_candidates.tsv",
    }
    submission = ROOT / "predictions" / "dstc7-overlap" / "Ubuntu_subtask_2.json"
    failures = []
    for other in FIXTURES.iterdir():
        problems = validate(submission, Gold(**files | {kind: other}), Track("ubuntu", 2))
        found = {problem.kind for problem in problems}
        if (found <= {"pool-size"}) != (files[kind] == other):
            failures.append((other.name, found))
    assert not failures


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    for read, _ in READERS.values():
        with pytest.raises(MwzevalError):
            read(tmp_path)
