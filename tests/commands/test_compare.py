"""`mwzeval compare`: what it prints, writes and refuses."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mwzeval.cli import main
from mwzeval.commands.systems import names_of
from tests.places import ROOT, sample_predictions
from tests.waiting import HANGING

MWZEVAL = str(Path(sys.executable).with_name("mwzeval"))
FEW = ("--samples", "100")
RECORDED = ("score", "scope", "system", "value", "difference", "low", "high", "p", "p_holm", "rank")


def file_of(system: str) -> str:
    return str(ROOT / "predictions" / f"sample-{system}.json")


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["compare", *arguments, "--jobs", "1"])
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def write(path: Path, predictions: Any) -> str:
    path.write_text(json.dumps(predictions), encoding="utf-8")
    return str(path)


def test_a_table_for_each_score_has_a_row_for_each_system(
    capsys: pytest.CaptureFixture[str],
) -> None:
    files = [file_of(system) for system in ("good", "weak-tracker", "no-phone")]
    code, out, _ = run(capsys, *files, *FEW)
    assert code == 0
    assert out.startswith("sample-good (the baseline) and 2 others, on 62 dialogues that all have")
    assert "no dialogue is left out" in out
    titles = ("Inform", "Success", "BLEU (sample)", "Combined", "Joint accuracy", "Entropy (bits)")
    for title in titles:
        assert f"\n{title} (n = " in out
    assert out.count("\nsample-no-phone ") == out.count("\nsample-good ") > 10


def test_metrics_can_be_chosen_and_domains_added(capsys: pytest.CaptureFixture[str]) -> None:
    files = (file_of("good"), file_of("no-phone"))
    _, out, _ = run(capsys, *files, *FEW, "--success", "-f", "jsonl")
    records = [json.loads(line) for line in out.splitlines()]
    assert {(record["score"], record["scope"]) for record in records} == {
        ("inform", "total"),
        ("success", "total"),
    }
    _, out, _ = run(capsys, *files, *FEW, "--success", "--scopes", "-f", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert {"total", "hotel", "restaurant"} < {row["scope"] for row in rows}
    assert set(RECORDED) < set(rows[0])


@pytest.mark.exhaustive
def test_several_processes_find_the_same(tmp_path: Path) -> None:
    files = [file_of(system) for system in ("good", "weak-tracker", "policy-only")]
    results = []
    for jobs in ("1", "2"):
        target = tmp_path / f"{jobs}.json"
        done = subprocess.run(
            [MWZEVAL, "compare", *files, *FEW, "-f", "json", "-o", target, "--jobs", jobs],
            capture_output=True,
            check=True,
            timeout=HANGING,
        )
        assert done.stdout == b""
        results.append((target.read_bytes(), done.stderr))
    assert results[0] == results[1]
    comparison = json.loads(results[0][0])
    assert comparison["baseline"] == "sample-good"
    assert "Joint accuracy" in comparison["not_compared"]


def test_the_level_decides_what_is_significant_and_how_sure_intervals_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    files = (file_of("good"), file_of("weak-tracker"))
    _, strict, _ = run(capsys, *files, *FEW, "-b", "--alpha", "0.000001")
    assert "†" not in strict.partition("\np: ")[0]
    _, usual, _ = run(capsys, *files, *FEW, "-b", "--alpha", "0.1")
    assert "90 % interval" in usual


def refused(capsys: pytest.CaptureFixture[str], folder: Path, *arguments: str) -> str:
    """Return the one line of a refusal that leaves nothing behind."""
    before = sorted(folder.iterdir())
    code, out, err = run(capsys, *arguments, "-o", str(folder / "result.txt"))
    assert (code, out) == (2, "")
    assert sorted(folder.iterdir()) == before
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    return err


def test_what_cannot_be_compared_is_one_clear_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    predictions = sample_predictions("good")
    names = list(predictions)
    empty = write(tmp_path / "empty.json", {})
    broken = tmp_path / "broken.json"
    broken.write_text("{", encoding="utf-8")
    good = file_of("good")
    for arguments, expected in (
        ((good, str(broken)), "broken.json"),
        ((good, empty), "empty.json"),
        ((good, str(tmp_path / "nowhere.json")), "nowhere.json"),
        ((good, file_of("policy-only"), "--dst"), "sample-policy-only"),
        ((good, file_of("no-phone"), "--samples", "0"), "sample"),
    ):
        assert expected in refused(capsys, tmp_path, *arguments)
    halves = [
        write(tmp_path / f"{name}.json", {key: predictions[key] for key in chosen})
        for name, chosen in (("first", names[:30]), ("second", names[30:]))
    ]
    assert refused(capsys, tmp_path, *halves) == (
        'error: "second" has no dialogue in common with the systems before it\n'
    )


def test_the_problems_of_all_files_are_shown_together(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    files = []
    for name in ("one", "two"):
        path = tmp_path / f"{name}.json"
        path.write_text("[", encoding="utf-8")
        files.append(str(path))
    code, _, err = run(capsys, *files)
    assert code == 2
    assert "one.json" in err
    assert "two.json" in err


def test_one_system_is_not_a_comparison(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        run(capsys, file_of("good"))
    assert exit_.value.code == 2
    assert "at least 2 files" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (("runs/a.json", "runs/b.jsonl.gz"), ["a", "b"]),
        (("one/test.json", "two/test.json"), ["one/test", "two/test"]),
        (("a.json", "a.json", "a.json"), ["a", "a #2", "a #3"]),
        (("-", "a.v2.json.zst"), ["standard input", "a.v2"]),
    ],
)
def test_systems_are_called_like_their_files(files: tuple[str, ...], expected: list[str]) -> None:
    assert names_of(files) == expected
