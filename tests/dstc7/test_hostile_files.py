"""Damaged files, hostile files and files that are larger than the allowed memory."""

from __future__ import annotations

import gzip
import json
import resource
import subprocess
import sys
import tracemalloc
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mwzeval.dstc7 import json_array
from mwzeval.dstc7.baselines.knowledge import read_courses, read_man_pages
from mwzeval.dstc7.dialogues import read_pool, read_targets
from mwzeval.dstc7.evaluation import Gold, Options, validate
from mwzeval.dstc7.json_array import items_of
from mwzeval.dstc7.submission import read_submission
from mwzeval.dstc7.tracks import Track
from mwzeval.dstc7.trec import read_qrels, read_run
from mwzeval.errors import InputError, MwzevalError
from tests.dstc7.cases import UBUNTU, Folder, examples_in, kinds, submission_of
from tests.places import ROOT

FIXTURES = ROOT / "data" / "dstc7"


@pytest.mark.integration
@pytest.mark.skipif(sys.platform != "linux", reason="needs sparse files and memory limits of Linux")
@pytest.mark.parametrize("reader", [read_submission, read_targets])
def test_two_gigabyte_files_are_refused_within_a_memory_limit(reader: Any, tmp_path: Path) -> None:
    path = tmp_path / "Ubuntu_subtask_1.json"
    with path.open("wb") as stream:
        stream.truncate(2_000_000_000)
    script = (
        f"from {reader.__module__} import {reader.__name__}\n"
        "from mwzeval.errors import InputError\n"
        f"try:\n    {reader.__name__}({str(path)!r})\nexcept InputError as error:\n"
        "    print(error.problems[0].kind)\n"
    )
    limit = 1_500_000_000

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        preexec_fn=limited,
        capture_output=True,
        text=True,
        check=False,
        env={"OPENBLAS_NUM_THREADS": "1", "PATH": ""},
    )
    assert done.stdout == "too-large\n", done.stderr


@contextmanager
def memory_below(most: int) -> Iterator[None]:
    """Fail if the block needs `most` bytes of memory or more."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < most
    finally:
        tracemalloc.stop()


GOOD = '[{"example-id": 1, "candidate-ranking": ['
REST = '{"candidate-id": "A", "confidence": 1}]}'


@pytest.mark.integration
@pytest.mark.parametrize(
    ("start", "repeated", "times", "expected"),
    [
        ("[", "1,", 7_000_000, ["too-many-values"]),
        ("[", "{},", 7_000_000, ["too-many-values"]),
        ("[", "1,", 300_000, ["bad-type", "too-many-errors", "missing-example"]),
        (GOOD, "1,", 150_000, ["bad-type", "too-many-errors", "too-many-candidates"]),
        (GOOD, '{"candidate-id": "B", "confidence": 2},', 200_000, ["too-many-candidates"]),
    ],
)
def test_many_small_values_are_refused_within_a_memory_limit(
    start: str, repeated: str, times: int, expected: list[str], tmp_path: Path
) -> None:
    text = f"{start}{repeated * times}"
    text += f"{repeated.strip(',')}]" if start == "[" else f"{REST}]"
    path = tmp_path / "Ubuntu_subtask_1.json.gz"
    path.write_bytes(gzip.compress(text.encode(), 1))
    right = tmp_path / "t.tsv"
    right.write_text("1\tA\n", encoding="utf-8")
    with memory_below(150_000_000):
        problems = validate(path, Gold(right), UBUNTU)
    assert kinds(problems) == expected
    assert len(problems) <= 10_002


@pytest.mark.parametrize("strict", [True, False])
def test_number_of_unknown_candidate_problems_is_limited(strict: bool, tmp_path: Path) -> None:
    entries = {"1": [(f"X{n}", 1 / n) for n in range(1, 50_001)]}
    (example, *_) = json.loads((FIXTURES / "ubuntu_dev_subtask_1.json").read_text("utf-8"))
    dialogues = [{**example, "example-id": 1}]
    problems = Folder(tmp_path).problems(
        submission_of(entries), "1\tA\n", options=Options(strict=strict), dialogues=dialogues
    )
    found = [problem for problem in problems if problem.kind == "unknown-candidate"]
    assert 9_990 < len(found) <= 10_000
    last = {problem.kind: problem for problem in problems}
    if strict:
        assert "too-many-errors" in last
    else:
        assert last["more-warnings"].count + len(found) >= 50_000
    assert len(problems) < 10_010


@pytest.mark.parametrize("text", ["[" * 500_000, '{"a":' * 300_000, "[" * 200_000 + "]" * 200_000])
def test_deeply_nested_items_are_refused_within_a_memory_limit(text: str, tmp_path: Path) -> None:
    path = tmp_path / "d.json"
    path.write_text(f'[{{"a": 1}},\n{text}', encoding="utf-8")
    with memory_below(50_000_000), pytest.raises(InputError, match=r"item 2 .* too deeply"):
        list(items_of(path))


def test_items_above_the_size_limit_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MWZEVAL_MAX_SIZE", "8MB")
    path = tmp_path / "d.json.gz"
    path.write_bytes(gzip.compress(b'[{}, {}, {"a": "' + b"x" * 3_000_000))
    with pytest.raises(InputError, match="item 3") as caught:
        list(items_of(path))
    assert kinds(caught.value.problems) == ["too-large"]


def test_syntax_error_at_file_end_is_located_within_a_memory_limit(tmp_path: Path) -> None:
    path = tmp_path / "d.json"
    path.write_text("[\n" + '{"a": [1, 2, 3, 4]},\n' * 200_000 + "oops]", encoding="utf-8")
    with memory_below(20_000_000), pytest.raises(InputError, match="line 200002, column 1"):
        deque(items_of(path), maxlen=0)


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


@QUIET
@given(raw=st.lists(values, max_size=5), indent=st.sampled_from([None, 1]), data=st.data())
def test_chunked_array_reading_equals_the_json_module(
    raw: list[Any], indent: int | None, data: st.DataObject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pieces may end within a token or character; of a truncated text, complete items are read."""
    text = json.dumps(raw, indent=indent, ensure_ascii=False)
    content = f"\ufeff {text}\n".encode("utf-8", "surrogatepass")
    content = content.decode("utf-8", "ignore").encode()
    size, cut = data.draw(st.integers(1, 9)), data.draw(st.integers(1, len(content)))
    monkeypatch.setattr(json_array, "REFILL", 1)

    def pieces(raw: bytes) -> Iterator[bytes]:
        return (raw[start : start + size] for start in range(0, len(raw), size))

    monkeypatch.setattr(json_array, "pieces", pieces)
    expected = repr(json.loads(content.decode("utf-8-sig")))  # with `repr`, NaN equals itself
    assert repr(list(items_of(content))) == expected  # type: ignore[arg-type]
    with suppress(InputError):
        assert repr(list(items_of(content[:cut]))) == expected  # type: ignore[arg-type]


READERS: dict[str, tuple[Any, str]] = {
    "dialogues": (examples_in, "ubuntu_test_subtask_1.json"),
    "advising dialogues": (examples_in, "advising_dev_subtask_1.json"),
    "targets": (read_targets, "ubuntu_responses_subtask_1.tsv"),
    "pool": (read_pool, "ubuntu_subtask_2_candidates.tsv"),
    "courses": (read_courses, "course-info.json"),
    "man pages": (read_man_pages, "man_pages.jsonl"),
    "submission": (read_submission, "../../predictions/dstc7-overlap/Ubuntu_subtask_1.json"),
    "run": (read_run, "ubuntu_responses_subtask_1.tsv"),
    "qrels": (read_qrels, "ubuntu_responses_subtask_1.tsv"),
}


@pytest.mark.parametrize("name", READERS)
@QUIET
@given(data=st.data())
def test_damaged_files_are_read_or_refused_with_a_file_name(
    name: str, data: st.DataObject, tmp_path: Path
) -> None:
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
    files = [str(path)]
    try:
        read(path)
    except InputError as error:
        files = [problem.file or "" for problem in error.problems]
    assert files
    assert all(files)


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
def test_any_json_submission_is_scored_or_refused(
    raw: Any, strict: bool, metric: Any, order: Any, tmp_path: Path
) -> None:
    given = raw, "1\tA\n2\tB,C\n", UBUNTU, Options(metric=metric, strict=strict, order=order)
    folder = Folder(tmp_path)
    errors = [problem for problem in folder.problems(*given) if problem.severity == "error"]
    if errors:
        with pytest.raises(InputError) as caught:
            folder.evaluated(*given)
        assert list(caught.value.problems) == errors
    else:
        assert all(0 <= score.value <= 1 for score in folder.evaluated(*given).report().scores)


@pytest.mark.parametrize("kind", ["targets", "dialogues", "pool"])
def test_wrong_gold_files_are_reported_without_a_crash(kind: str) -> None:
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


def test_folders_in_place_of_files_are_errors(tmp_path: Path) -> None:
    for read, _ in READERS.values():
        with pytest.raises(MwzevalError):
            read(tmp_path)
