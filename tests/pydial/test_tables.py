"""Tables and curves of a run, beside the paper's figures."""

from __future__ import annotations

import io
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from mwzeval.cli import main
from mwzeval.errors import InputError, UsageError
from mwzeval.pydial.curves import plot_curves, plot_retests, read_curves
from mwzeval.pydial.episode_files import read_episodes
from mwzeval.pydial.leaderboard import published_results
from mwzeval.pydial.results import (
    FEWEST_SEEDS,
    PolicyTests,
    all_seeds,
    corrected,
    interval_over_seeds,
    least_deviation,
    p_value_over_seeds,
    p_value_to_published,
    read_results,
)
from mwzeval.pydial.retest import Retest
from mwzeval.pydial.tables import (
    NOTE_ON_LEARNED,
    improvements_of,
    notes_of,
    records_of,
    retest_document,
    side_by_side,
    table_document,
)
from mwzeval.pydial.tasks import PUBLISHED_TASKS
from mwzeval.scores.findings import Findings
from mwzeval.scores.sheets import FORMATS, render
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
    """A run: in CR-1 handcrafted, GP-SARSA and DQN with six seeds, in LAP-1 GP-SARSA."""
    for seed in range(6):
        name = f"seed-{seed}"
        write(tmp_path / "CR-1" / "handcrafted" / name, "test-000000.jsonl", [1] * 10)
        write(tmp_path / "CR-1" / "gp-sarsa" / name, "test-001000.jsonl", [1] * 9 + [seed > 0])
        write(tmp_path / "CR-1" / "gp-sarsa" / name, "training.jsonl", [0, 1] * (10 + seed))
        write(tmp_path / "CR-1" / "dqn" / name, "test-001000.jsonl", [1] * 2 + [0] * (6 + seed))
        write(tmp_path / "LAP-1" / "gp-sarsa" / name, "test-001000.jsonl", [1, 0])
    return tmp_path


@pytest.mark.integration
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
    assert success.title.endswith(", 6 seeds")
    assert success.header == ("Task", "Handcrafted", "paper", "GP-SARSA", "paper", "DQN", "paper")
    rows = {row[0].text: row for row in success.rows}
    reach = stats.t.ppf(0.975, 5) * np.std([90, *[100] * 5], ddof=1) / np.sqrt(6)
    assert rows["CR-1"][3].text == f"98.3 ±{reach:.1f}"
    assert [cell.text for cell in rows["CR-1"][2::2]] == ["100.0", "98.0", "88.6"]
    assert rows["CR-1"][3].best
    assert rows["CR-1"][3].mark == ""
    assert rows["CR-1"][5].mark == "▼"
    assert rows["LAP-1"][3].text == "50.0 ±0.0"
    assert rows["LAP-1"][3].mark == "▼"
    assert rows["LAP-1"][1].text == "–"
    assert rows["mean of all"][3].text.startswith("74.2")
    assert rows["mean of all"][4].text == f"{(98.0 + 78.9) / 2:.1f}"
    assert rows["mean of all"][1].text == "–"
    assert rows["IQM of all"][4].text == "–"
    assert {row[0].text: row[1].text for row in reward.rows}["CR-1"] == "15.0 ±0.0"


def test_few_seeds_are_told_of_and_not_tested(output: Path) -> None:
    for seed in range(3, 6):
        shutil.rmtree(output / "CR-1" / "dqn" / f"seed-{seed}")
    document = table_document(read_results(output))
    success = document.sheets[0]
    assert success.header[1::2] == ("Handcrafted (6)", "GP-SARSA (6)", "DQN (3)")
    (row,) = (row for row in success.rows if row[0].text == "CR-1")
    assert (row[5].text, row[5].mark) == ("22.4", "‡")
    assert any(note.startswith("‡ fewer than 5 seeds") for note in document.notes)
    few = read_results(output, seeds=range(2))
    assert not any("Student" in note or "▲" in note for note in table_document(few).notes)
    assert {record.low for record in records_of(few, 1000, "success")} == {None}
    shutil.rmtree(output / "CR-1" / "gp-sarsa" / "seed-5")
    results = read_results(output)
    cells = {row[0].text: row[3].text for row in table_document(results).sheets[0].rows}
    assert cells["CR-1"].endswith(" (5)")
    assert cells["LAP-1"] == "50.0 ±0.0"


def test_marks_are_corrected_over_the_table(output: Path) -> None:
    """Scipy's tests, and Holm's definition, by hand."""
    records = {
        (r.row, r.policy): r
        for r in records_of(read_results(output), 1000, "success")
        if r.of == "mean"
    }
    own = {key: r for key, r in records.items() if r.published is not None}
    raw = {}
    for (row, policy), record in own.items():
        tasks = [row] if row != "mean of all" else ["CR-1", "LAP-1"]
        of_seed = read_results(output).values(tasks, policy, 1000, "success")
        label = {"gp-sarsa": "GP-SARSA", "dqn": "DQN", "handcrafted": "Handcrafted"}[policy]
        found = [published_results().figure(task, label, 1000, "success") for task in tasks]
        rates = np.array(found, dtype=float)
        least = np.sqrt(np.sum(rates * (100 - rates) / 500)) / len(tasks)
        spread = np.std(list(of_seed.values()), ddof=1)
        error = np.sqrt(spread**2 / 6 + max(spread, least) ** 2 / 10)
        far = max(0.0, abs(record.value - float(np.mean(rates))) - 0.05)
        raw[row, policy] = 1.0 if far == 0 else 2 * stats.t.sf(far / error, 5)
    so_far = 0.0
    for rank, key in enumerate(sorted(raw, key=raw.__getitem__)):
        so_far = max(so_far, min(1.0, (len(raw) - rank) * raw[key]))
        assert own[key].p_published == pytest.approx(so_far)
    assert len(raw) == 5


def test_runs_stand_side_by_side_headed_by_what_they_differ_in(
    output: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    legacy = tmp_path / "legacy"
    for task in ("CR-1", "LAP-1"):
        shutil.copytree(output / task, legacy / task)
    shutil.rmtree(legacy / "LAP-1")
    for folder, settings in ((output, (False, "user")), (legacy, (True, "policy"))):
        plain = dict(zip(("legacy", "goodbye"), settings, strict=True))
        (folder / "run.json").write_text(json.dumps(plain), encoding="utf-8")
    document = side_by_side([read_results(output), read_results(legacy)])
    assert NOTE_ON_LEARNED not in document.notes
    sheets = {sheet.title: sheet for sheet in document.sheets}
    gp = sheets["After 1000 training dialogues: success rate (%), GP-SARSA"]
    names = ("clean, goodbyes of the user", "legacy, goodbyes of the policy")
    assert gp.header == ("Task", *names, "paper")
    rows = {row[0].text: [cell.text for cell in row[1:]] for row in gp.rows}
    assert rows["CR-1"][0] == rows["CR-1"][1]
    assert rows["LAP-1"] == ["50.0 ±0.0", "–", "78.9"]
    assert rows["mean of all"][1] == "–", "of other tasks than the other run's"
    of_all = sheets["After 1000 training dialogues: success rate (%), mean of all"]
    assert [row[0].text for row in of_all.rows] == ["Handcrafted", "GP-SARSA", "DQN"]
    assert not any(
        cell.best or "†" in cell.mark for s in sheets.values() for row in s.rows for cell in row
    )
    assert {record["run"] for record in document.records} == set(names)
    command = ["pydial", "table", str(output), "--seeds", "0-2", "--seeds", "5-5"]
    assert main(command) == 0
    shown = capsys.readouterr().out
    assert re.search(r"^Policy +seeds 0-2 +seeds 5 +paper$", shown, re.M)
    with pytest.raises(UsageError):
        read_results(output, seeds=[77])


def test_how_likely_a_policy_is_better_is_over_all_pairs_of_seeds(output: Path) -> None:
    shutil.rmtree(output / "LAP-1")
    shutil.copytree(output / "CR-1", output / "CR-2")
    sheets = table_document(read_results(output)).sheets
    assert [sheet.title for sheet in sheets if "probability" in sheet.title] == [
        f"After 1000 training dialogues: probability that the row's policy has a higher {of} "
        "than the column's policy, averaged over all 2 tasks"
        for of in ("success", "reward")
    ]
    found = {(i.policy, i.than): i for i in improvements_of(read_results(output), 1000, "success")}
    assert found["gp-sarsa", "dqn"].value == 1.0
    tie = found["handcrafted", "gp-sarsa"]
    assert tie.value == pytest.approx((6 * 1 + 30 * 0.5) / 36)
    assert found["gp-sarsa", "handcrafted"].value == pytest.approx(1 - tie.value)
    assert tie.low is not None
    assert tie.high is not None
    assert tie.low <= tie.value <= tie.high


def test_seconds_of_training_are_told_where_they_are_known(output: Path) -> None:
    for seed, seconds in enumerate((10.0, 20.0)):
        times = {"training": {"1000": seconds}, "tests": {}, "so_far": seconds}
        folder = output / "CR-1" / "gp-sarsa" / f"seed-{seed}"
        (folder / "times.json").write_text(json.dumps(times), encoding="utf-8")
    last = table_document(read_results(output)).sheets[-1]
    assert last.title.startswith("CPU seconds")
    assert [[cell.text for cell in row] for row in last.rows] == [["GP-SARSA", "15 (2)"]]


def test_seconds_in_a_column_have_equal_decimals(output: Path) -> None:
    for policy, seconds in (("gp-sarsa", 59.8512), ("dqn", 1.14)):
        times = {"training": {"1000": seconds}, "tests": {}, "so_far": seconds}
        file = output / "CR-1" / policy / "seed-0" / "times.json"
        file.write_text(json.dumps(times), encoding="utf-8")
    last = table_document(read_results(output)).sheets[-1]
    assert {row[1].text for row in last.rows} == {"59.9 (1)", "1.1 (1)"}


@pytest.mark.parametrize("format_name", FORMATS)
def test_a_table_can_be_had_in_every_format(format_name: str, output: Path) -> None:
    text = render(table_document(read_results(output)), format_name)
    assert "CR-1" in text


def test_notes_are_about_what_the_tables_have(output: Path) -> None:
    notes = table_document(read_results(output)).notes
    assert any("▲ ▼" in note for note in notes)
    assert NOTE_ON_LEARNED in notes, "the handcrafted policy is better than the best"
    learned = records_of(read_results(output), 1000, "success")
    assert any(record.best for record in learned)
    without = [record for record in learned if record.policy != "handcrafted"]
    assert NOTE_ON_LEARNED not in notes_of(without)
    assert not any("--goodbye" in note for note in notes), "environment 1 has masks"
    shutil.copytree(output / "CR-1", output / "CR-2")
    for who, told in (("user", "only the user may end"), ("policy", "policies may end")):
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
    assert of["CR-1", "gp-sarsa", "success"]["value"] == pytest.approx(590 / 6)
    assert of["CR-1", "gp-sarsa", "success"]["seeds"] == 6
    assert of["CR-1", "dqn", "reward"]["published"] == 11.6


def test_a_number_of_dialogues_without_tests_is_refused(output: Path) -> None:
    with pytest.raises(UsageError, match=r"\(1000\)"):
        table_document(read_results(output), [4000])


def test_a_folder_without_tests_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        read_results(tmp_path)
    with pytest.raises(UsageError, match="nowhere"):
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
    ours, other = [70.0, 75.0, 90.0, 84.0, 66.0], [60.0, 76.0, 80.0, 71.0, 70.0]
    mine = {**dict(enumerate(ours)), 9: 3.0}
    theirs = {**dict(enumerate(other)), 8: 9.0}
    assert p_value_over_seeds(mine, theirs) == pytest.approx(stats.ttest_rel(ours, other).pvalue)
    interval = interval_over_seeds(ours)
    expected = stats.ttest_1samp(ours, 0).confidence_interval(0.95)
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high))
    assert FEWEST_SEEDS == 5
    assert interval_over_seeds(ours[:4]) is None
    assert p_value_over_seeds({**mine}, dict(enumerate(other[:4]))) is None
    assert p_value_over_seeds(mine, mine) == 1.0
    assert corrected({"a": 0.01, "b": None, "c": 0.04}) == {"a": 0.02, "c": 0.04}
    assert all_seeds([3, 101, 1, 102, 2, 9]) == "1-3, 9, 101-102"


def test_a_published_mean_is_as_uncertain_as_ones_own() -> None:
    """With equal spreads, the test is Student's of two samples, but for degrees of freedom."""
    ours = [70.0, 75.0, 90.0, 84.0, 66.0, 78.0, 71.0, 80.0, 69.0, 73.0]
    spread = float(np.std(ours, ddof=1))
    both = stats.ttest_ind_from_stats(np.mean(ours), spread, 10, 70.0 + 0.05, spread, 10)
    expected = 2 * stats.t.sf(both.statistic, 9)
    assert p_value_to_published(ours, 70.0, 0.0) == pytest.approx(expected)
    assert p_value_to_published(ours[:4], 70.0, 0.0) is None
    assert p_value_to_published([100.0] * 10, 99.96, 0.0) == 1.0, "rounding"
    certain = p_value_to_published([100.0] * 10, 99.4, 0.0)
    unsure = p_value_to_published([100.0] * 10, 99.4, least_deviation([99.4]))
    assert certain is not None
    assert unsure is not None
    assert certain == 0.0 < 0.0001 < unsure
    assert least_deviation([50.0]) == pytest.approx(100 * np.sqrt(0.25 / 500))
    assert least_deviation([50.0, 50.0]) == pytest.approx(100 * np.sqrt(0.25 / 1000))


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
    assert (of_task.low[0], of_task.mean[0], of_task.high[0]) == (
        50.0,
        pytest.approx(350 / 6),
        100.0,
    )
    expected = stats.ttest_1samp([50.0, 50.0, 50.0, 50.0, 50.0, 100.0], 0).confidence_interval(0.95)
    of_task = read_curves(output, read_results(output), window=4)[0]
    assert of_task.low[0] == pytest.approx(expected.low)
    assert of_task.high[0] == pytest.approx(expected.high)
    cut = interval_over_seeds([100.0, 100.0, 100.0, 100.0, 60.0], limits=(0.0, 100.0))
    assert cut is not None
    assert cut.high == 100.0


def test_curves_of_few_seeds_have_their_range_and_a_warning(output: Path) -> None:
    results, findings = read_results(output), Findings()
    read_curves(output, results, window=4, findings=findings)
    assert findings.warnings == []
    for seed in range(2, 6):
        shutil.rmtree(output / "CR-1" / "gp-sarsa" / f"seed-{seed}")
    write(output / "CR-1" / "gp-sarsa" / "seed-1", "training.jsonl", [1, 1, 0, 1] * 6)
    (curve,) = read_curves(output, results, window=4, findings=findings)
    assert (curve.low[0], curve.mean[0], curve.high[0]) == (50.0, 62.5, 75.0)
    assert [warning.kind for warning in findings.warnings] == ["few-seeds"]


def test_curves_of_interquartile_means_leave_out_the_ends(output: Path) -> None:
    for seed in range(6):
        folder = output / "CR-2" / "gp-sarsa" / f"seed-{seed}"
        write(folder, "training.jsonl", ([0, 0] if seed < 3 else [1, 1]) * 20)
        write(folder, "test-001000.jsonl", [1] * 5)
    results = read_results(output)
    (means,) = read_curves(output, results, panels="means", window=4)
    (iqm,) = read_curves(output, results, panels="means", aggregate="iqm", window=4)
    values = [50.0] * 6 + [0.0] * 3 + [100.0] * 3
    assert iqm.mean[0] == stats.trim_mean(values, 0.25) == 50.0
    assert iqm.low[0] <= 50.0 <= iqm.high[0]
    assert (iqm.low[0], iqm.high[0]) != (means.low[0], means.high[0])


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
    with pytest.raises(UsageError):
        read_curves(tmp_path, read_results(tmp_path), panels="means")


@pytest.mark.parametrize(("format_name", "begins"), [("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_a_plot_is_a_picture_and_the_same_each_time(
    format_name: str, begins: bytes, output: Path
) -> None:
    pytest.importorskip("matplotlib")
    picture = plot_curves(output, format_name=format_name, window=4)
    assert picture.startswith(begins)
    assert picture == plot_curves(output, format_name=format_name, window=4)
    with pytest.raises(UsageError, match="gif"):
        plot_curves(output, format_name="gif")
    with pytest.raises(UsageError, match="means"):
        plot_curves(output, aggregate="iqm")


def test_other_environments_are_a_table_for_each_domain_with_corrected_marks() -> None:
    lucky = (30.0, 31.0, 30.5, 29.5, 30.0)
    same = published_results().cross["DQN"]["CR-1"]["CR-3"]

    def tested(policy: str, trained: str, task: str, *rewards: float) -> Retest:
        success, reward = dict.fromkeys(range(len(rewards)), 90.0), dict(enumerate(rewards))
        return Retest(policy, trained, task, None, PolicyTests(trained, policy, 0, success, reward))

    document = retest_document(
        [
            tested("dqn", "CR-1", "CR-3", same - 1, same + 1, same, same, same),
            tested("dqn", "SFR-1", "SFR-6", *lucky),
            tested("ppo", "CR-1", "CR-3", *lucky[:3]),
        ]
    )
    *successes, rewards, of_sfr = document.sheets
    assert [s.title for s in (rewards, of_sfr)] == [
        "Reward in other environments of CR",
        "Reward in other environments of SFR",
    ]
    assert len(successes) == 2
    assert rewards.header == ("Trained in", "Policy", "CR-3")
    assert [row[2].mark for row in rewards.rows] == ["", "‡"]
    assert of_sfr.rows[0][2].mark == "▲"
    published = published_results().cross["DQN"]["SFR-1"]["SFR-6"]
    assert of_sfr.rows[0][2].text.endswith(f"({published:.1f})")
    first, second, _ = document.records[3:]
    assert first["p_published"] == 1.0
    alone = p_value_to_published(lucky, published, 0.0)
    assert alone is not None
    assert second["p_published"] == pytest.approx(2 * alone)
    assert any(note.startswith("‡") for note in document.notes)


def test_keys_of_one_panel_are_within_the_picture(output: Path) -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.image import imread

    shutil.rmtree(output / "LAP-1")
    tested = [
        Retest("ppo", "CR-1", f"CR-1{rate}", None, PolicyTests("CR-1", "ppo", 0, same, same))
        for same in [dict.fromkeys(range(5), 50.0)]
        for rate in ("", "@errors=30")
    ]
    records = retest_document(tested).records
    for picture in (plot_curves(output, window=4), plot_retests(records)):
        pixels = imread(io.BytesIO(picture))
        # Nothing reaches the edges, so nothing is cut off by them.
        assert (pixels[:, [0, -1], :3] == 1).all()
        assert (pixels[[0, -1], :, :3] == 1).all()
    with pytest.raises(UsageError, match="--errors"):
        plot_retests([{**record, "tested": "CR-3"} for record in records])


@pytest.mark.parametrize(
    ("command", "instead"),
    [
        ("estimate runs", "scikit-learn"),
        ("sweep runs", "retest --errors"),
        ("run --tasks Demo-CR-1 --policies acer -o runs", "ppo"),
        ("run --tasks Demo-CR-1 --policies dqn,ppo-shared -o runs", "ppo"),
    ],
)
def test_what_is_gone_is_an_error_that_names_what_to_take_instead(
    command: str, instead: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["pydial", *command.split()]) == 2
    assert instead in capsys.readouterr().err
