"""Tables and curves of a run with the paper's figures."""

from __future__ import annotations

import io
import re
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from mwzeval.errors import UsageError
from mwzeval.pydial.curves import plot_curves, plot_retests, read_curves
from mwzeval.pydial.leaderboard import published_results
from mwzeval.pydial.results import (
    FEWEST_SEEDS,
    SeedScores,
    all_seeds,
    corrected,
    interval_over_seeds,
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
from mwzeval.scores.sheets import FORMATS, Document, Sheet, render
from tests.command_lines import Run
from tests.places import read_json, shared, write_json
from tests.pydial.runs import episodes, write_lines


def write(folder: Path, place: str, successes: list[int]) -> None:
    write_lines(folder / place, episodes(successes))


@pytest.fixture
def output(tmp_path: Path) -> Path:
    """A run with six seeds: handcrafted, GP-SARSA and DQN in CR-1, GP-SARSA in LAP-1."""
    for seed in range(6):
        for place, successes in (
            (f"CR-1/handcrafted/seed-{seed}/test-000000.jsonl", [1] * 10),
            (f"CR-1/gp-sarsa/seed-{seed}/test-001000.jsonl", [1] * 9 + [seed > 0]),
            (f"CR-1/gp-sarsa/seed-{seed}/training.jsonl", [0, 1] * (10 + seed) + [1]),
            (f"CR-1/dqn/seed-{seed}/test-001000.jsonl", [1] * 2 + [0] * (6 + seed)),
            (f"LAP-1/gp-sarsa/seed-{seed}/test-001000.jsonl", [1, 0]),
        ):
            write(tmp_path, place, successes)
    return tmp_path


def document(output: Path) -> Document:
    return table_document(read_results(output))


def texts(sheet: Sheet) -> dict[str, list[str]]:
    return {row[0].text: [cell.text for cell in row[1:]] for row in sheet.rows}


@pytest.mark.integration
def test_embedded_figures_match_the_paper() -> None:
    golden = read_json(shared("golden", "pydial", "paper_tables.json"))
    published = published_results()
    for name in ("table4", "table6", "table7"):
        table = golden[name]
        for task in PUBLISHED_TASKS:
            code, environment = task.split("-")
            for policy, figures in table["tasks"][f"env{environment}-{code}"].items():
                for figure in ("success", "reward"):
                    after = table["training_dialogues"]
                    assert published.mean([task], policy, after, figure) == figures[figure]
    for row in golden["table8"]["rows"]:
        for environment, rewards in row["reward_when_tested_on"].items():
            for code, reward in rewards.items():
                trained = f"{code}-{row['trained_on'].removeprefix('env')}"
                tested = f"{code}-{environment.removeprefix('env')}"
                assert published.cross[row["model"]][trained][tested] == reward


def test_tables_show_published_figures_next_to_the_run(output: Path) -> None:
    success, reward = document(output).sheets
    assert "Table 6" in success.title
    assert success.title.endswith(", 6 seeds")
    assert success.header == ("Task", "Handcrafted", "paper", "GP-SARSA", "paper", "DQN", "paper")
    found = texts(success)
    reach = stats.t.ppf(0.975, 5) * np.std([90, *[100] * 5], ddof=1) / np.sqrt(6)
    assert found["CR-1"][:4] == ["100.0 ±0.0", "100.0", f"98.3 ±{reach:.1f}", "98.0"]
    assert found["LAP-1"] == ["–", "–", "50.0 ±0.0", "78.9", "–", "–"]
    assert found["mean of all"][2].startswith("74.2")
    assert found["mean of all"][3] == f"{(98.0 + 78.9) / 2:.1f}"
    assert (found["mean of all"][0], found["IQM of all"][3]) == ("–", "–")
    assert texts(reward)["CR-1"][0] == "15.0 ±0.0"
    of_cr, of_lap = success.rows[:2]
    assert [(cell.best, cell.mark) for cell in of_cr[3:6:2]] == [(True, ""), (False, "▼")]
    assert of_lap[3].mark == "▼"


def test_few_seeds_are_marked_and_have_no_significance_test(output: Path) -> None:
    for seed in range(3, 6):
        shutil.rmtree(output / f"CR-1/dqn/seed-{seed}")
    success, notes = document(output).sheets[0], document(output).notes
    assert success.header[1::2] == ("Handcrafted (6)", "GP-SARSA (6)", "DQN (3)")
    assert (success.rows[0][5].text, success.rows[0][5].mark) == ("22.4", "‡")
    assert any(note.startswith("‡ fewer than 5 seeds") for note in notes)
    few = read_results(output, seeds=range(2))
    assert not any("Student" in note or "▲" in note for note in table_document(few).notes)
    assert {record.low for record in records_of(few, 1000, "success")} == {None}
    shutil.rmtree(output / "CR-1/gp-sarsa/seed-5")
    found = texts(document(output).sheets[0])
    assert found["CR-1"][2].endswith(" (5)")
    assert found["LAP-1"][2] == "50.0 ±0.0"


def test_significance_marks_are_corrected_over_the_whole_table(output: Path) -> None:
    """Oracle: scipy's tests and the definition of Holm's correction."""
    own = {
        (r.row, r.policy): r
        for r in records_of(read_results(output), 1000, "success")
        if r.of == "mean" and r.published is not None
    }
    raw = {}
    for (row, policy), record in own.items():
        tasks = [row] if row != "mean of all" else ["CR-1", "LAP-1"]
        scores = read_results(output).scores(tasks, policy, 1000, "success")
        label = {"gp-sarsa": "GP-SARSA", "dqn": "DQN", "handcrafted": "Handcrafted"}[policy]
        found = [published_results().mean([task], label, 1000, "success") for task in tasks]
        rates = np.array(found, dtype=float)
        least = np.sqrt(np.sum(rates * (100 - rates) / 500)) / len(tasks)
        spread = np.std(np.mean(list(scores.values()), axis=1), ddof=1)
        error = np.sqrt(spread**2 / 6 + max(spread, least) ** 2 / 10)
        far = max(0.0, abs(record.value - float(np.mean(rates))) - 0.05)
        raw[row, policy] = 1.0 if far == 0 else 2 * stats.t.sf(far / error, 5)
    so_far = 0.0
    for rank, key in enumerate(sorted(raw, key=raw.__getitem__)):
        so_far = max(so_far, min(1.0, (len(raw) - rank) * raw[key]))
        assert own[key].p_published == pytest.approx(so_far)
    assert len(raw) == 5


def test_compared_runs_are_columns_named_by_their_differing_settings(
    output: Path, tmp_path: Path, run: Run
) -> None:
    legacy = tmp_path / "legacy"
    shutil.copytree(output / "CR-1", legacy / "CR-1")
    write_json(output / "run.json", {"legacy": False, "goodbye": "user"})
    write_json(legacy / "run.json", {"legacy": True, "goodbye": "policy"})
    together = side_by_side([read_results(output), read_results(legacy)])
    assert NOTE_ON_LEARNED not in together.notes
    sheets = {sheet.title: sheet for sheet in together.sheets}
    gp = sheets["After 1000 training dialogues: success rate (%), GP-SARSA"]
    names = ("clean, goodbyes of the user", "legacy, goodbyes of the policy")
    assert gp.header == ("Task", *names, "paper")
    assert texts(gp)["CR-1"][0] == texts(gp)["CR-1"][1]
    assert texts(gp)["LAP-1"] == ["50.0 ±0.0", "–", "78.9"]
    assert texts(gp)["mean of all"][1] == "–", "the runs have different tasks"
    of_all = sheets["After 1000 training dialogues: success rate (%), mean of all"]
    assert list(texts(of_all)) == ["Handcrafted", "GP-SARSA", "DQN"]
    cells = [cell for sheet in sheets.values() for row in sheet.rows for cell in row]
    assert not any(cell.best or "†" in cell.mark for cell in cells)
    assert {record["run"] for record in together.records} == set(names)
    shown = run("pydial", "table", str(output), "--seeds", "0-2", "--seeds", "5-5").out
    assert re.search(r"^Policy +seeds 0-2 +seeds 5 +paper$", shown, re.M)


def test_probability_of_improvement_uses_all_pairs_of_seeds(output: Path) -> None:
    shutil.rmtree(output / "LAP-1")
    shutil.copytree(output / "CR-1", output / "CR-2")
    titles = [sheet.title for sheet in document(output).sheets if "probability" in sheet.title]
    assert [title.endswith("all 2 tasks") for title in titles] == [True, True]
    found = {(i.policy, i.than): i for i in improvements_of(read_results(output), 1000, "success")}
    assert found["gp-sarsa", "dqn"].value == 1.0
    tie = found["handcrafted", "gp-sarsa"]
    assert tie.value == pytest.approx((6 * 1 + 30 * 0.5) / 36)
    assert found["gp-sarsa", "handcrafted"].value == pytest.approx(1 - tie.value)
    assert tie.low is not None
    assert tie.high is not None
    assert tie.low <= tie.value <= tie.high


def test_training_seconds_are_shown_where_recorded(output: Path) -> None:
    for seconds, due in (
        ({"gp-sarsa/seed-0": 10.0, "gp-sarsa/seed-1": 20.0}, {"GP-SARSA": ["15 (2)"]}),
        ({"dqn/seed-0": 1.14}, {"GP-SARSA": ["15.0 (2)"], "DQN": ["1.1 (1)"]}),
    ):
        for place, number in seconds.items():
            times = {"training": {"1000": number}, "tests": {}, "so_far": number}
            write_json(output / "CR-1" / place / "times.json", times)
        last = document(output).sheets[-1]
        assert last.title.startswith("CPU seconds")
        assert texts(last) == due, "all numbers of a column have the same number of decimals"


def test_notes_depend_on_the_content_of_the_tables(output: Path) -> None:
    notes = document(output).notes
    assert any("▲ ▼" in note for note in notes)
    assert NOTE_ON_LEARNED in notes, "the handcrafted policy is better than the best learned one"
    learned = records_of(read_results(output), 1000, "success")
    assert any(record.best for record in learned)
    without = [record for record in learned if record.policy != "handcrafted"]
    assert NOTE_ON_LEARNED not in notes_of(without)
    assert not any("--goodbye" in note for note in notes), "environment 1 masks goodbyes"
    shutil.copytree(output / "CR-1", output / "CR-2")
    for who, told in (("user", "only the user may end"), ("policy", "policies may end")):
        write_json(output / "run.json", {"goodbye": who})
        assert any(told in note for note in document(output).notes)
    for task in ("CR-2", "LAP-1"):
        shutil.rmtree(output / task)
    (output / "CR-1").rename(output / "Demo-CR-1")
    assert not any("paper" in note for note in document(output).notes)
    shutil.rmtree(output / "Demo-CR-1/gp-sarsa")
    assert len(document(output).notes) == 1


def test_records_are_unrounded_and_tables_render_in_every_format(output: Path) -> None:
    found = document(output)
    records = {(r["row"], r["policy"], r["figure"]): r for r in found.records}
    assert records["CR-1", "gp-sarsa", "success"]["value"] == pytest.approx(590 / 6)
    assert records["CR-1", "gp-sarsa", "success"]["seeds"] == 6
    assert records["CR-1", "dqn", "reward"]["published"] == 11.6
    assert all("CR-1" in render(found, name) for name in FORMATS)


@pytest.mark.parametrize(
    ("use", "told"),
    [
        (lambda output: table_document(read_results(output), [4000]), r"\(1000\)"),
        (lambda output: read_results(output / "CR-1"), "no tests"),
        (lambda output: read_results(output / "nowhere"), "nowhere"),
        (partial(read_results, seeds=[77]), "seeds"),
        (partial(plot_curves, format_name="gif"), "gif"),
        (partial(plot_curves, aggregate="iqm"), "means"),
    ],
)
def test_missing_results_and_invalid_options_are_refused(
    use: Callable[[Path], object], told: str, output: Path
) -> None:
    with pytest.raises(UsageError, match=told):
        use(output)


def ends(values: list[float], limits: tuple[float, float] = (-np.inf, np.inf)) -> list[float]:
    interval = interval_over_seeds(values, limits)
    assert interval is not None
    return [interval.low, interval.high]


def test_statistics_over_seeds_match_scipy() -> None:
    ours, other = [70.0, 75.0, 90.0, 84.0, 66.0], [60.0, 76.0, 80.0, 71.0, 70.0]
    mine = {**dict(enumerate(ours)), 9: 3.0}
    theirs = {**dict(enumerate(other)), 8: 9.0}
    assert p_value_over_seeds(mine, theirs) == pytest.approx(stats.ttest_rel(ours, other).pvalue)
    assert ends(ours) == pytest.approx(stats.ttest_1samp(ours, 0).confidence_interval(0.95))
    assert ends([100.0, 100.0, 100.0, 100.0, 60.0], (0.0, 100.0))[1] == 100.0
    assert FEWEST_SEEDS == 5
    assert interval_over_seeds(ours[:4]) is None
    assert p_value_over_seeds(mine, dict(enumerate(other[:4]))) is None
    assert p_value_over_seeds(mine, mine) == 1.0
    assert p_value_to_published(ours[:4], 70.0, 0.0) is None
    assert p_value_to_published([100.0] * 10, 99.96, 0.0) == 1.0, "the rounded figures are equal"
    assert p_value_to_published([100.0] * 10, 99.4, 0.0) == 0.0
    assert corrected({"a": 0.01, "b": None, "c": 0.04}) == {"a": 0.02, "c": 0.04}
    assert all_seeds([3, 101, 1, 102, 2, 9]) == "1-3, 9, 101-102"


def test_mean_curves_use_only_seeds_with_all_tasks(output: Path) -> None:
    for place, successes in (
        ("CR-1/gp-sarsa/seed-5", [1]),
        ("CR-2/gp-sarsa/seed-0", [0, 0]),
        ("CR-2/gp-sarsa/seed-2", [1, 0]),
    ):
        write(output / place, "training.jsonl", successes * 20)
        write(output / place, "test-001000.jsonl", successes * 5)
    results = read_results(output)
    (means,) = read_curves(output, results, panels="means", band="range", window=4)
    # LAP-1 has no training, so there is no curve for all tasks.
    assert (means.panel, means.policy) == ("mean of CR", "gp-sarsa")
    for column, due in ((means.low, 25.0), (means.mean, 37.5), (means.high, 50.0)):
        assert column.tolist() == [due] * 5
    curve = read_curves(output, results, band="range", window=4)[0]
    assert [curve.low[0], curve.high[0]] == [50.0, 100.0]
    assert curve.mean[0] == pytest.approx(350 / 6)
    curve = read_curves(output, results, window=4)[0]
    expected = stats.ttest_1samp([50.0] * 5 + [100.0], 0).confidence_interval(0.95)
    assert (curve.low[0], curve.high[0]) == pytest.approx(expected)


def test_curves_are_window_means_and_show_the_range_for_few_seeds(output: Path) -> None:
    results, findings = read_results(output), Findings()
    (curve,) = read_curves(output, results, window=4, findings=findings)
    assert (curve.panel, curve.policy) == ("CR-1", "gp-sarsa")
    assert curve.dialogues.tolist() == [4, 8, 12, 16, 20]
    for column in (curve.low, curve.mean, curve.high):
        assert column.tolist() == [50.0] * 5
    assert findings.warnings == []
    for seed in range(2, 6):
        shutil.rmtree(output / f"CR-1/gp-sarsa/seed-{seed}")
    write(output, "CR-1/gp-sarsa/seed-1/training.jsonl", [1, 1, 0, 1] * 6)
    (curve,) = read_curves(output, results, window=4, findings=findings)
    assert (curve.low[0], curve.mean[0], curve.high[0]) == (50.0, 62.5, 75.0)
    assert [warning.kind for warning in findings.warnings] == ["few-seeds"]


def test_iqm_curves_leave_out_the_outer_quartiles(output: Path) -> None:
    for seed in range(6):
        folder = output / f"CR-2/gp-sarsa/seed-{seed}"
        write(folder, "training.jsonl", [seed >= 3] * 40)
        write(folder, "test-001000.jsonl", [1] * 5)
    results = read_results(output)
    (means,) = read_curves(output, results, panels="means", window=4)
    (iqm,) = read_curves(output, results, panels="means", aggregate="iqm", window=4)
    values = [50.0] * 6 + [0.0] * 3 + [100.0] * 3
    assert iqm.mean[0] == stats.trim_mean(values, 0.25) == 50.0
    assert iqm.low[0] <= 50.0 <= iqm.high[0]
    assert (iqm.low[0], iqm.high[0]) != (means.low[0], means.high[0])


def test_plots_are_deterministic_and_shrink_the_window_for_short_runs(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    folder = tmp_path / "CR-1/gp-sarsa/seed-0"
    write(folder, "training.jsonl", [0, 1, 1] * 66)
    write(folder, "test-000198.jsonl", [1])
    short, wide = (plot_curves(tmp_path, window=window) for window in (19, 100))
    assert plot_curves(tmp_path) == short != wide
    (folder / "test-000198.jsonl").rename(folder / "test-004000.jsonl")
    for name, begins in (("png", b"\x89PNG"), ("svg", b"<?xml")):
        picture = plot_curves(tmp_path, format_name=name)
        assert picture.startswith(begins)
        assert picture == plot_curves(tmp_path, format_name=name, window=100)
    with pytest.raises(UsageError, match="several tasks"):
        plot_curves(tmp_path, panels="means")


def test_retest_has_one_reward_table_per_domain_with_corrected_marks() -> None:
    lucky = (30.0, 31.0, 30.5, 29.5, 30.0)
    same = published_results().cross["DQN"]["CR-1"]["CR-3"]

    def tested(policy: str, trained: str, task: str, *rewards: float) -> Retest:
        success = dict.fromkeys(range(len(rewards)), 90.0)
        tests: SeedScores = {"success": success, "reward": dict(enumerate(rewards))}
        return Retest(policy, trained, task, None, tests)

    found = retest_document(
        [
            tested("dqn", "CR-1", "CR-3", same - 1, same + 1, same, same, same),
            tested("dqn", "SFR-1", "SFR-6", *lucky),
            tested("ppo", "CR-1", "CR-3", *lucky[:3]),
        ]
    )
    *successes, rewards, of_sfr = found.sheets
    for sheet, domain in ((rewards, "CR"), (of_sfr, "SFR")):
        assert sheet.title == f"Reward in other environments of {domain}"
    assert len(successes) == 2
    assert rewards.header == ("Trained in", "Policy", "CR-3")
    assert [row[2].mark for row in rewards.rows] == ["", "‡"]
    assert of_sfr.rows[0][2].mark == "▲"
    published = published_results().cross["DQN"]["SFR-1"]["SFR-6"]
    assert of_sfr.rows[0][2].text.endswith(f"({published:.1f})")
    first, second, _ = found.records[3:]
    assert first["p_published"] == 1.0
    alone = p_value_to_published(lucky, published, 0.0)
    assert alone is not None
    assert second["p_published"] == pytest.approx(2 * alone)
    assert any(note.startswith("‡") for note in found.notes)


def test_legends_of_single_panel_plots_are_inside_the_picture(output: Path) -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.image import imread

    shutil.rmtree(output / "LAP-1")
    same = dict.fromkeys(range(5), 50.0)
    tested = [
        Retest("ppo", "CR-1", task, None, {"success": same, "reward": same})
        for task in ("CR-1", "CR-1@errors=30")
    ]
    records = retest_document(tested).records
    for picture in (plot_curves(output, window=4), plot_retests(records)):
        pixels = imread(io.BytesIO(picture))
        # White edges show that no text is cut off.
        assert (pixels[:, [0, -1], :3] == 1).all()
        assert (pixels[[0, -1], :, :3] == 1).all()
    with pytest.raises(UsageError, match="--errors"):
        plot_retests([{**record, "tested": "CR-3"} for record in records])
