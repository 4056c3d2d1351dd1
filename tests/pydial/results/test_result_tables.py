"""Tables and curves of a run, beside the paper's figures."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from mwzeval.errors import InputError, UsageError
from mwzeval.pydial.board import published_results
from mwzeval.pydial.results.curves import plot_curves, read_curves
from mwzeval.pydial.results.run_results import (
    interval_over_seeds,
    not_worse_than_best,
    p_value_over_seeds,
    read_results,
    table_document,
)
from mwzeval.pydial.runs.episode_files import read_episodes
from mwzeval.pydial.tasks import PUBLISHED_TASKS
from mwzeval.report.formats import FORMATS, render
from tests.places import read_json, shared


def write(folder: Path, name: str, successes: list[int], exchanges: int = 5) -> None:
    lines = [
        json.dumps(
            {
                "dialogue": index,
                "success": bool(success),
                "exchanges": exchanges,
                "reward": 20.0 * success - exchanges,
            }
        )
        for index, success in enumerate(successes)
    ]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.fixture
def output(tmp_path: Path) -> Path:
    """A run: in CR-1 handcrafted, GP-SARSA and DQN with three seeds, in LAP-1 GP-SARSA."""
    for seed in range(3):
        name = f"seed-{seed}"
        write(tmp_path / "CR-1" / "handcrafted" / name, "test-000000.jsonl", [1] * 10)
        write(tmp_path / "CR-1" / "gp-sarsa" / name, "test-001000.jsonl", [1] * 9 + [seed > 0])
        write(tmp_path / "CR-1" / "gp-sarsa" / name, "training.jsonl", [0, 1] * (10 + seed))
        write(tmp_path / "CR-1" / "dqn" / name, "test-001000.jsonl", [1] * (2 + seed) + [0] * 6)
        write(tmp_path / "LAP-1" / "gp-sarsa" / name, "test-001000.jsonl", [1, 0])
    return tmp_path


def test_the_embedded_figures_are_those_of_the_paper() -> None:
    golden = read_json(shared("golden", "pydial", "paper_tables.json"))
    published = published_results()
    for name in ("table4", "table6", "table7"):
        table = golden[name]
        for task in PUBLISHED_TASKS:
            code, environment = task.split("-")
            for policy, figures in table["tasks"][f"env{environment}-{code}"].items():
                for figure in ("success", "reward"):
                    after = table["training_dialogues"]
                    found = published.figure(task, policy, after, figure)
                    assert found == figures[figure]
    for row in golden["table8"]["rows"]:
        for environment, rewards in row["reward_when_tested_on"].items():
            for code, reward in rewards.items():
                trained = f"{code}-{row['trained_on'].removeprefix('env')}"
                tested = f"{code}-{environment.removeprefix('env')}"
                assert published.cross[row["model"]][trained][tested] == reward


def test_a_table_has_the_run_beside_the_paper(output: Path) -> None:
    success, reward = table_document(read_results(output)).sheets
    assert "Table 6" in success.title
    assert success.header == ("Task", "Handcrafted", "paper", "GP-SARSA", "paper", "DQN", "paper")
    rows = {row[0].text: row for row in success.rows}
    reach = stats.t.ppf(0.975, 2) * np.std([90, 100, 100], ddof=1) / np.sqrt(3)
    assert rows["CR-1"][3].text == f"96.7 ±{reach:.1f}"
    assert [cell.text for cell in rows["CR-1"][2::2]] == ["100.0", "98.0", "88.6"]
    assert rows["CR-1"][3].best
    assert rows["CR-1"][5].mark == "▼"
    assert rows["LAP-1"][3].text == "50.0 ±0.0"
    assert rows["LAP-1"][3].mark == "▼"
    assert rows["LAP-1"][1].text == "–"
    assert rows["mean of all"][3].text.startswith("73.3")
    assert rows["mean of all"][4].text == f"{(98.0 + 78.9) / 2:.1f}"
    assert rows["mean of all"][1].text == "–"
    assert {row[0].text: row[1].text for row in reward.rows}["CR-1"] == "15.0 ±0.0"


@pytest.mark.parametrize("format_name", FORMATS)
def test_a_table_can_be_had_in_every_format(format_name: str, output: Path) -> None:
    text = render(table_document(read_results(output)), format_name)
    assert "CR-1" in text


def test_notes_are_about_what_the_tables_have(output: Path) -> None:
    notes = table_document(read_results(output)).notes
    assert any("▲ ▼" in note for note in notes)
    assert not any("goodbyes" in note for note in notes), "environment 1 has masks"
    shutil.copytree(output / "CR-1", output / "CR-2")
    for who, told in (("user", "leave goodbyes to the user"), ("policy", "may say goodbye")):
        (output / "run.json").write_text(json.dumps({"goodbye": who}), encoding="utf-8")
        assert any(told in note for note in table_document(read_results(output)).notes)
    shutil.rmtree(output / "CR-2")
    (output / "CR-1").rename(output / "Demo-CR-1")
    shutil.rmtree(output / "LAP-1")
    notes = table_document(read_results(output)).notes
    assert not any("paper" in note for note in notes)
    shutil.rmtree(output / "Demo-CR-1" / "gp-sarsa")
    assert len(table_document(read_results(output)).notes) == 1


def test_records_are_unrounded(output: Path) -> None:
    records = table_document(read_results(output)).records
    of = {(r["row"], r["policy"], r["figure"]): r for r in records}
    assert of["CR-1", "gp-sarsa", "success"]["value"] == pytest.approx(290 / 3)
    assert of["CR-1", "gp-sarsa", "success"]["seeds"] == 3
    assert of["CR-1", "dqn", "reward"]["published"] == 11.6


def test_a_number_of_dialogues_without_tests_is_refused(output: Path) -> None:
    with pytest.raises(UsageError, match=r"nothing was tested after 4000 dialogues \(1000\)"):
        table_document(read_results(output), [4000])


def test_a_folder_without_tests_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no tests"):
        read_results(tmp_path)
    with pytest.raises(UsageError, match=r"there is no folder .*nowhere"):
        read_results(tmp_path / "nowhere")


@pytest.mark.parametrize(
    "line", ["{", "[1]", '{"dialogue": 0, "success": 2, "exchanges": 3, "reward": 1.0}']
)
def test_a_damaged_file_of_tests_is_told_with_its_line(line: str, tmp_path: Path) -> None:
    write(tmp_path, "test.jsonl", [1])
    with (tmp_path / "test.jsonl").open("a", encoding="utf-8") as stream:
        stream.write(line + "\n")
    with pytest.raises(InputError, match="line 2"):
        read_episodes(tmp_path / "test.jsonl", "CR-1", 0)


def test_statistics_over_seeds_are_those_of_scipy() -> None:
    mine = {0: 70.0, 1: 75.0, 2: 90.0, 5: 3.0}
    theirs = {0: 60.0, 1: 76.0, 2: 80.0, 4: 9.0}
    paired = stats.ttest_rel([70.0, 75.0, 90.0], [60.0, 76.0, 80.0])
    assert p_value_over_seeds(mine, theirs) == pytest.approx(paired.pvalue)
    interval = interval_over_seeds([70.0, 75.0, 90.0])
    expected = stats.ttest_1samp([70.0, 75.0, 90.0], 0).confidence_interval(0.95)
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high))
    assert interval_over_seeds([1.0]) is None
    assert p_value_over_seeds({0: 1.0}, {0: 2.0}) is None
    assert p_value_over_seeds({0: 1.0, 1: 2.0}, {0: 1.0, 1: 2.0}) == 1.0


def test_policies_not_significantly_worse_than_the_best_are_named() -> None:
    values = {
        "a": {0: 90.0, 1: 91.0, 2: 92.0},
        "b": {0: 92.0, 1: 88.0, 2: 91.0},
        "c": {0: 10.0, 1: 12.0, 2: 11.0},
    }
    assert not_worse_than_best(values) == ("a", frozenset({"b"}))


def test_curves_are_means_of_windows_with_a_band_over_seeds(output: Path) -> None:
    (curve,) = read_curves(output, read_results(output), window=4)
    assert (curve.panel, curve.policy) == ("CR-1", "gp-sarsa")
    assert curve.dialogues.tolist() == [4, 8, 12, 16, 20]
    assert curve.mean.tolist() == [50.0] * 5
    assert curve.low.tolist() == curve.high.tolist() == [50.0] * 5


def test_curves_of_means_are_over_the_seeds_that_have_all_tasks(output: Path) -> None:
    for task, seed, successes in (("CR-1", 5, [1]), ("CR-2", 0, [0, 0]), ("CR-2", 2, [1, 0])):
        folder = output / task / "gp-sarsa" / f"seed-{seed}"
        write(folder, "training.jsonl", successes * 20)
        write(folder, "test-001000.jsonl", successes * 5)
    means = read_curves(output, read_results(output), panels="means", band="range", window=4)
    # LAP-1 has tests and no training, so that there is no curve of all tasks.
    assert [(curve.panel, curve.policy) for curve in means] == [("mean of CR", "gp-sarsa")]
    assert means[0].low.tolist() == [25.0] * 5
    assert means[0].high.tolist() == [50.0] * 5
    assert means[0].mean.tolist() == [37.5] * 5
    of_task = read_curves(output, read_results(output), band="range", window=4)[0]
    assert (of_task.low[0], of_task.mean[0], of_task.high[0]) == (50.0, 62.5, 100.0)
    expected = stats.ttest_1samp([50.0, 50.0, 50.0, 100.0], 0).confidence_interval(0.95)
    of_task = read_curves(output, read_results(output), window=4)[0]
    assert of_task.low[0] == pytest.approx(expected.low)
    assert of_task.high[0] == 100.0, "percent end there"


def test_curves_of_a_short_run_have_some_points_too(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    folder = tmp_path / "CR-1" / "gp-sarsa" / "seed-0"
    write(folder, "training.jsonl", [0, 1, 1] * 66)
    write(folder, "test-000198.jsonl", [1])
    assert plot_curves(tmp_path) == plot_curves(tmp_path, window=19)
    assert plot_curves(tmp_path) != plot_curves(tmp_path, window=100)
    (folder / "test-000198.jsonl").rename(folder / "test-004000.jsonl")
    assert plot_curves(tmp_path) == plot_curves(tmp_path, window=100)


def test_a_run_of_one_task_has_no_means(tmp_path: Path) -> None:
    write(tmp_path / "CR-1" / "gp-sarsa" / "seed-0", "test-001000.jsonl", [1])
    with pytest.raises(UsageError, match="several tasks"):
        read_curves(tmp_path, read_results(tmp_path), panels="means")


@pytest.mark.parametrize(("format_name", "begins"), [("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_a_plot_is_a_picture_and_the_same_each_time(
    format_name: str, begins: bytes, output: Path
) -> None:
    pytest.importorskip("matplotlib")
    picture = plot_curves(output, format_name=format_name, window=4)
    assert picture.startswith(begins)
    assert picture == plot_curves(output, format_name=format_name, window=4)
    with pytest.raises(UsageError, match="unknown format"):
        plot_curves(output, format_name="gif")
