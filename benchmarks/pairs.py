"""Time this checkout and another in pairs, `python -m benchmarks.pairs OTHER [-n N] [PART ...]`.

Each line is a command or a short program that runs in both checkouts in turn; the figure is CPU
time of the process and its children, which other programs on the machine change little. A line of
the table has the median of the other checkout, of this one, and the median ratio of the pairs with
its range. Without OTHER, this checkout is timed against sacreBLEU's `corpus_bleu` on the turns of
AuGPT as the yardstick (Y). Real data are read from `../shared/data`.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
from pathlib import Path

from benchmarks.measure import run_process

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"
SYSTEMS = ("augpt", "damd", "galaxy-e2e", "hdsa", "lava", "marco", "pptod", "ubar")
LEARNERS = ("gp-sarsa", "dqn", "a2c", "enac", "dqn-modern", "a2c-modern", "ppo")
WARM = """
import json, sys, time
from mwzeval import Evaluator
chosen, first, *unseen = sys.argv[1], *({P})
evaluator = Evaluator(*(letter in chosen for letter in "bsr"), corpus="multiwoz-2.2")
evaluator.evaluate(json.load(open(first)))
read = [json.load(open(path)) for path in unseen]
start = time.process_time()
for predictions in read:
    evaluator.evaluate(predictions)
print(time.process_time() - start)
"""
VECTOR = """
import time
import numpy as np
import gymnasium
import mwzeval
environment = gymnasium.make_vec(
    "mwzeval/Demo-CR-1-v0", num_envs=256, vectorization_mode="vector_entry_point"
)
_, info = environment.reset(seed=0)
generator = np.random.default_rng(0)
for repetition in range(2):  # compilation first
    start = time.process_time()
    for _ in range(200):
        masks = info["action_mask"]
        *_, info = environment.step((masks * generator.random(masks.shape)).argmax(1))
print(time.process_time() - start)
"""
YARDSTICK = """
import json, sys, time
from benchmarks.multiwoz import yardstick
from pathlib import Path
bleu = yardstick(json.loads(Path({P}[0]).read_bytes()))
start = time.process_time()
bleu()
print(time.process_time() - start)
"""


def parts() -> dict[str, list[str]]:
    """Return name → arguments for `python`; a printed number replaces the CPU time."""
    predictions = [str(DATA / "multiwoz" / "predictions" / f"{name}.json") for name in SYSTEMS]
    warm = WARM.replace("{P}", repr([*predictions[3:4], *predictions[:3]]))
    mwzeval = ["-m", "mwzeval"]
    live = [*mwzeval, "live", "--goals", "corpus:test:200", "--jobs", "1", "-q"]
    crosswoz = [*mwzeval, "crosswoz", "simulate", "--per-type", "100", "-o", "log.jsonl", "-q"]
    crosswoz += ["--data", str(DATA / "crosswoz")]
    train = [*mwzeval, "pydial", "run", "--tasks", "Demo-CR-1", "--seeds", "1", "--processes", "0"]
    found = {
        "yardstick": ["-c", YARDSTICK.replace("{P}", repr(predictions))],
        "--help": [*mwzeval, "--help"],
        "evaluate -bsr, cold": ["evaluate.py", "-bsr", predictions[0]],
        "evaluate -bsr --ci": ["evaluate.py", "-bsr", predictions[0], "--ci"],
        "evaluate, warm, three unseen files, -bsr": ["-c", warm, "bsr"],
        "evaluate, warm, three unseen files, -s": ["-c", warm, "s"],
        "compare of eight": [*mwzeval, "compare", *predictions],
        "report of four": [*mwzeval, "report", *predictions[:4], "-o", "page.html"],
        "live, act level": [*live, "--agent", "rule-convlab", "--level", "acts", "-o", "a.jsonl"],
        "live, text level": [*live, "--agent", "rule", "-o", "b.jsonl"],
        "judging text level": [*mwzeval, "evaluate", "b.jsonl"],
        "CrossWOZ simulation": crosswoz,
        "DSTC7 scoring": [*mwzeval, "evaluate", "predictions/dstc7-overlap/Ubuntu_subtask_1.json"],
        "make_vec steps": ["-c", VECTOR],
    }
    for learner in LEARNERS:
        output = ["--dialogues", "400", "--tests", "100", "-o", f"run-{learner}"]
        found[f"pydial run, {learner}"] = [*train, "--policies", learner, *output]
    return found


def cost(checkout: Path, arguments: list[str], folder: Path) -> float:
    """Return the CPU seconds of a run in a folder, or the number that it prints at the end."""
    environment = {
        "PYTHONPATH": str(checkout),
        "MWZEVAL_DATA": str(DATA / "multiwoz"),
        "MWZEVAL_CACHE": str(folder / "cache"),
        "PYTHONPYCACHEPREFIX": str(folder / "bytecode"),
        "MWZEVAL_OFFLINE": "1",
    }
    if arguments[0].endswith(".py"):
        arguments = [str(checkout / arguments[0]), *arguments[1:]]
    if not (folder / "predictions").exists():
        (folder / "predictions").symlink_to(checkout / "predictions")
    for old in folder.glob("run-*"):
        shutil.rmtree(old)
    for old in folder.glob("*.jsonl"):
        if "evaluate" not in arguments:
            old.unlink()
    done = run_process(arguments, environment, folder)
    return float(done.output.split()[-1]) if arguments[0] == "-c" else done.cpu_seconds


def main() -> None:
    """Print one line per part."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pairs", description=__doc__)
    parser.add_argument("other", nargs="?", type=Path, help="another checkout (default: Y)")
    parser.add_argument("parts", nargs="*", help="beginnings of names of parts (default: all)")
    parser.add_argument("-n", type=int, default=5, help="pairs per part (default: 5)")
    given = parser.parse_args()
    known = parts()
    wanted = tuple(given.parts) or ("",)
    chosen = {name: arguments for name, arguments in known.items() if name.startswith(wanted)}
    if given.other:
        chosen.pop("yardstick", None)  # the library is the same in both checkouts
    with tempfile.TemporaryDirectory() as folder:
        here, there = (Path(tempfile.mkdtemp(dir=folder)) for _ in range(2))
        print(f"| what | {'other' if given.other else 'Y'} | this | this/other | range |")
        print("|---|---:|---:|---:|---:|")
        for name, arguments in chosen.items():
            pairs = []
            for number in range(given.n + 1):
                if given.other:
                    old = cost(given.other.resolve(), arguments, there)
                else:
                    old = cost(ROOT, known["yardstick"], there)
                new = cost(ROOT, arguments, here)
                if number:  # the first pair fills caches
                    pairs.append((old, new))
            ratios = sorted(new / old for old, new in pairs)
            other, this = (statistics.median(column) for column in zip(*pairs, strict=True))
            print(
                f"| {name} | {other:.2f} s | {this:.2f} s | {statistics.median(ratios):.2f}"
                f" | {ratios[0]:.2f} to {ratios[-1]:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
