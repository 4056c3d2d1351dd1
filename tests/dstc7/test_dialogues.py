"""Readers of dialogue files, targets and pools, and their error messages."""

from __future__ import annotations

import gzip
import json
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import zstandard

from mwzeval.dstc7.dialogues import (
    Candidate,
    Example,
    Message,
    read_pool,
    read_targets,
    stream_examples,
    write_targets,
)
from mwzeval.dstc7.tracks import candidate_id, example_id, plain_id
from mwzeval.errors import InputError
from mwzeval.scores.findings import Findings
from tests.dstc7.cases import Folder, examples_in, kinds
from tests.places import shared


def example(**changes: Any) -> dict[str, Any]:
    raw: dict[str, Any] = {
        "data-split": "dev",
        "example-id": 1100001,
        "messages-so-far": [{"speaker": "participant_1", "utterance": "  A\tb \u2028 :) "}],
        "options-for-correct-answers": [{"candidate-id": "abc", "utterance": ""}],
        "options-for-next": [
            {"candidate-id": "abc", "utterance": ""},
            {"candidate-id": 12, "utterance": '<nick> "http://x"'},
        ],
        "scenario": 1,
    }
    return raw | {name.replace("_", "-"): value for name, value in changes.items()}


OPTION = {"candidate-id": "x", "utterance": "y"}


def read(tmp_path: Path, *raw: Any) -> Any:
    return examples_in(Folder(tmp_path).write("d.json", list(raw)))


@pytest.mark.parametrize(
    ("raw", "canonical"),
    [
        ("TLSHF16Y4J4L", "TLSHF16Y4J4L"),
        (" tlshf16y4j4l\n", "TLSHF16Y4J4L"),
        (545833110, "545833110"),
        ("545833110", "545833110"),
        ("none", "NONE"),
        ("", None),
        ("  ", None),
        (None, None),
        (True, None),
        (1.0, None),
        pytest.param(10**5000, None, id="too-long"),
    ],
)
def test_candidate_ids_are_normalized(raw: Any, canonical: str | None) -> None:
    assert candidate_id(raw) == canonical


@pytest.mark.parametrize(
    ("raw", "canonical"),
    [(1200001, "1200001"), (" 1200001 ", "1200001"), ("007", "7"), ("000", "0"), (False, None)],
)
def test_example_ids_are_normalized(raw: Any, canonical: str | None) -> None:
    assert example_id(raw) == canonical


def test_only_short_canonical_numbers_are_written_as_integer_ids() -> None:
    written = {"12": 12, "012": "012", "9" * 30: "9" * 30, "A1": "A1"}
    assert {identity: plain_id(identity) for identity in written} == written


def test_utterances_are_read_unchanged_and_unknown_keys_are_ignored(tmp_path: Path) -> None:
    said = [{"speaker": f"participant_{n}", "utterance": "x", "time": n} for n in (1, 2, 1)]
    first, second = read(
        tmp_path,
        example(),
        example(example_id=2, messages_so_far=said, data_split="valid", scenario="4", weather="x"),
    )
    assert first == Example(
        "1100001",
        (Message("participant_1", "  A\tb \u2028 :) "),),
        (Candidate("ABC", ""), Candidate("12", '<nick> "http://x"')),
        (Candidate("ABC", ""),),
        "dev",
        1,
    )
    assert (second.context, second.split, second.scenario) == ("x x x", "valid", 4)


@pytest.mark.parametrize(
    ("key", "value", "candidates", "correct"),
    [
        ("options-for-next", None, 0, 1),
        ("options-for-next", [], 0, 1),
        ("options-for-correct-answers", [], 2, 0),
        ("options-for-correct-answers", None, 2, None),
    ],
)
def test_candidate_and_answer_lists_may_be_absent_or_empty(
    key: str, value: list[Any] | None, candidates: int, correct: int | None, tmp_path: Path
) -> None:
    raw = example() | {key: value}
    if value is None:
        del raw[key]
    [found] = read(tmp_path, raw)
    assert len(found.candidates) == candidates
    assert (found.correct if correct is None else len(found.correct)) == correct


@pytest.mark.parametrize(
    ("raw", "kind", "names"),
    [
        ("text", "bad-type", "item 1"),
        (example(example_id=None), "bad-type", "example-id"),
        (example(example_id="twelve"), "bad-type", "twelve"),
        ({"exampleid": 1}, "missing-field", "exampleid"),
        (example(messages_so_far=[]), "bad-type", "messages-so-far"),
        (example(messages_so_far="hi"), "bad-type", "messages-so-far"),
        (example(messages_so_far=["hi"]), "bad-type", "message"),
        (example(messages_so_far=[{"utterance": "x"}]), "missing-field", "speaker"),
        (example(messages_so_far=[{"speaker": "x"}]), "missing-field", "utterance"),
        (example(options_for_next={}), "bad-type", "options-for-next"),
        (example(options_for_next=["x"]), "bad-type", "candidate"),
        (example(options_for_next=[{"utterance": "x"}]), "missing-field", "candidate-id"),
        (example(options_for_next=[{"candidate-id": "x"}]), "missing-field", "utterance"),
        (example(options_for_next=[OPTION | {"candidate-id": []}]), "bad-type", "candidate-id"),
        (example(options_for_next=[OPTION | {"utterance": 1}]), "bad-type", "utterance"),
        (example(profile=[]), "bad-type", "profile"),
    ],
)
def test_malformed_examples_are_errors_that_name_the_cause(
    raw: Any, kind: str, names: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, raw, example(example_id=2))
    problem = caught.value.problems[0]
    assert problem.kind == kind
    assert names in str(problem)


def test_all_malformed_examples_are_reported_and_valid_examples_read(tmp_path: Path) -> None:
    lacking = {"example-id": 5}
    path = Folder(tmp_path).write("d.json", [1, example(), lacking, example(), example()])
    findings = Findings()
    assert [found.example_id for found in stream_examples(path, findings)] == ["1100001"]
    assert kinds(findings.problems) == [
        "bad-type",
        "missing-field",
        "duplicate-dialogue-example",
    ]
    assert len(findings.problems) == 4


@pytest.mark.parametrize("ids", [["ab", "AB "], [5, 5]])
def test_candidate_ids_with_equal_normal_form_are_warnings(ids: list[Any], tmp_path: Path) -> None:
    options = [{"candidate-id": identity, "utterance": str(n)} for n, identity in enumerate(ids)]
    path = Folder(tmp_path).write("d.json", [example(options_for_next=options)])
    findings = Findings()
    [found] = stream_examples(path, findings)
    assert len(found.candidates) == 2
    [problem] = findings.problems
    assert (problem.kind, problem.severity) == ("ambiguous-option", "warning")


def test_streaming_without_findings_stops_at_the_first_error(tmp_path: Path) -> None:
    path = Folder(tmp_path).write("d.json", [example(), 1, example(example_id=2)])
    stream = stream_examples(path)
    assert next(stream).example_id == "1100001"
    with pytest.raises(InputError, match="item 2"):
        next(stream)


@pytest.mark.parametrize("ending", ["", ".gz", ".zst"])
def test_compressed_files_are_read(ending: str, tmp_path: Path) -> None:
    raw = json.dumps([example()]).encode()
    packed = {"": raw, ".gz": gzip.compress(raw), ".zst": zstandard.compress(raw)}[ending]
    [found] = examples_in(Folder(tmp_path).write(f"d.json{ending}", packed))
    assert found.messages[0].utterance == "  A\tb \u2028 :) "


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ('[{"a": 1},\n {"b" 2}]', "line 2, column 7"),
        ('[{"a": 1},\n {"é": "é" x}]', "line 2, column 12"),
        ("[1, 2", "line 1"),
        ("[1, nan]", "line 1, column 5"),
        (" \n[1] x", "line 2, column 5"),
        ("\ufeff[1,\r\n}", "line 2, column 1"),
    ],
)
def test_json_syntax_errors_are_reported_with_line_and_column(
    content: str, place: str, tmp_path: Path
) -> None:
    path = Folder(tmp_path).write("d.json", content)
    findings = Findings()
    with pytest.raises(InputError, match=place) as caught:
        list(stream_examples(path, findings))
    assert kinds(caught.value.problems) == ["not-json"]


def test_json_syntax_errors_late_in_a_file_have_line_and_column(tmp_path: Path) -> None:
    lines = [json.dumps(example(example_id=n, weather="é" * 500)) for n in range(1, 400)]
    lines[300] = lines[300][:-1] + " oops}"
    stream = stream_examples(Folder(tmp_path).write("d.json", "[\n" + ",\n".join(lines) + "\n]"))
    assert len(list(islice(stream, 290))) == 290
    with pytest.raises(InputError, match=f"line 302, column {len(lines[300]) - 4}"):
        list(stream)


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"", "empty-file"),
        (b" \n ", "empty-file"),
        (b'{"a": 1}', "not-an-array"),
        (b'"a"', "not-an-array"),
        (b'[\n{"a": "\xff"}]', "not-utf8"),
        (b"\x1f\x8b\x08 not gzip", "unreadable"),
    ],
)
def test_files_without_a_readable_json_array_are_errors(
    content: bytes, kind: str, tmp_path: Path
) -> None:
    path = Folder(tmp_path).write("d.json", content)
    with pytest.raises(InputError) as caught:
        examples_in(path)
    assert kinds(caught.value.problems) == [kind]


def test_missing_dialogue_files_are_errors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nothing\.json"):
        examples_in(tmp_path / "nothing.json")


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("1\tA\n", {"1": ("A",)}),
        ("\ufeff1\ta , b,,A\r\n\r\n2\tnone", {"1": ("A", "B"), "2": ("NONE",)}),
        ('1\tA\tit said "x"\ty\n', {"1": ("A",)}),
        ("0012\t545833110\n", {"12": ("545833110",)}),
        ("1\tA\t\u2028 odd\x0bends\x0c\n2\tB", {"1": ("A",), "2": ("B",)}),
    ],
)
def test_targets_are_parsed_and_survive_a_round_trip(
    text: str, targets: dict[str, tuple[str, ...]], tmp_path: Path
) -> None:
    path = Folder(tmp_path).write("t.tsv", text)
    assert read_targets(path) == targets
    again = write_targets(targets)
    for text in (again, f"\ufeff{again}", again.replace("\n", "\r\n")):
        assert read_targets(Folder(tmp_path).write("again.tsv", text)) == targets


def test_pool_lines_are_split_at_the_first_tab(tmp_path: Path) -> None:
    path = Folder(tmp_path).write("p.tsv", 'a1\tx\ty "z"\r\nB2\t\n')
    findings = Findings()
    assert read_pool(path, findings) == {"A1": 'x\ty "z"', "B2": ""}
    assert kinds(findings.problems) == ["pool-size"]


def test_all_errors_in_a_pool_are_reported(tmp_path: Path) -> None:
    path = Folder(tmp_path).write("p.tsv", "a\tx\nb\n\tx\nA \ty\n")
    with pytest.raises(InputError) as caught:
        read_pool(path)
    messages = [problem.message for problem in caught.value.problems]
    assert [message.partition(":")[0] for message in messages] == ["line 2", "line 3", "line 4"]
    assert '(there as "a")' in messages[2]


@pytest.mark.integration
@pytest.mark.parametrize(("name", "count"), [("train", 20), ("dev", 10), ("test", 10)])
def test_official_ubuntu_sample_files_are_read(name: str, count: int) -> None:
    examples = examples_in(shared("data", "dstc7", f"ubuntu_sample_{name}_subtask_1.json"))
    assert len(examples) == count
    for found in examples:
        speakers = [message.speaker for message in found.messages]
        assert speakers == ["participant_1", "participant_2"] * (len(speakers) // 2) + speakers[:1]
        assert len(found.candidates) in (20, 21)
        assert (found.correct is None) == (name == "test")
    if name == "test":
        targets = read_targets(shared("data", "dstc7", "ubuntu_sample_responses_subtask_1.tsv"))
        offered = {e.example_id: {c.candidate_id for c in e.candidates} for e in examples}
        assert targets.keys() == offered.keys()
        assert all(targets[name][0] in offered[name] for name in targets)
