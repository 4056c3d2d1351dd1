"""Build what is published, and check it as somebody who installs it would.

`python -m tools.release` writes an sdist and a wheel to `dist/`. It checks that the version is the
same wherever it is told, that both archives have all files and no others, what `twine` says of
them, and that the wheel, installed alone with the lowest and with the newest libraries, scores the
samples: the same numbers with both. It needs build, twine and uv, and nothing that mwzeval needs.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RESOLUTIONS = ("lowest-direct", "highest")
INSIDE = {
    "mwzeval": "mwzeval",
    "data/": "mwzeval/data/",
    **{f"{beside}/": f"mwzeval/data/{beside}/" for beside in ("predictions", "docs")},
}
"""Where a wheel has what is in the repository, by how its path begins."""
SCORED = (
    ("-bsrd", "sample-good.json"),
    ("-g", "sample-lexicalized.json"),
    ("--benchmark", "dstc7", "dstc7-overlap/Ubuntu_subtask_1.json"),
    ("--benchmark", "crosswoz", "crosswoz-sample-dst.json"),
)
"""What is scored where the wheel is installed; none of it needs an extra or the network."""


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    """Return what a command prints, of an environment without this checkout.

    Ends the program where it fails, with all that it said.
    """
    ours = ("PYTHONPATH", "VIRTUAL_ENV", "MWZEVAL_DATA")
    environment = {name: value for name, value in os.environ.items() if name not in ours}
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=environment, capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def version() -> str:
    """Return the version; ends the program where two places tell different ones."""
    told = {
        "mwzeval/version.py": r'__version__ = "(.+)"',
        "CITATION.cff": r"(?m)^version: (.+)$",
        "CHANGELOG.md": r"(?m)^## (\d\S*)",
    }
    found = {}
    for name, pattern in told.items():
        match = re.search(pattern, (ROOT / name).read_text(encoding="utf-8"))
        found[name] = match[1] if match else "none"
    if len(set(found.values())) > 1:
        sys.exit(f"versions differ: {found}")
    return found["CITATION.cff"]


def missing_and_other(wheel: Path, sdist: Path) -> list[str]:
    """Return which files of the repository an archive lacks, and which it has besides."""
    tracked = run("git", "ls-files").splitlines()
    package = {
        place + name.removeprefix(start)
        for name in tracked
        for start, place in INSIDE.items()
        if name.startswith(start)
    }
    in_wheel = {n for n in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in n}
    with tarfile.open(sdist) as archive:
        in_sdist = {m.name.partition("/")[2] for m in archive.getmembers() if m.isfile()}
    # Of no use without the repository.
    left_out = (".ci/", ".pre-commit", ".gitignore")
    whole = {name for name in tracked if not name.startswith(left_out)}
    made = {"PKG-INFO", ".gitignore"}
    return [
        *(f"wheel lacks {name}" for name in sorted(package - in_wheel)),
        *(f"wheel has {name}" for name in sorted(in_wheel - package)),
        *(f"sdist lacks {name}" for name in sorted(whole - in_sdist)),
        *(f"sdist has {name}" for name in sorted(in_sdist - whole - made)),
    ]


def scores_of(wheel: Path, python: str, resolution: str) -> Mapping[str, object]:
    """Return the scores of the samples by a wheel that is installed alone, anywhere."""
    with tempfile.TemporaryDirectory() as name:
        empty = Path(name) / "empty"
        empty.mkdir()
        run("uv", "venv", "--quiet", "--python", python, Path(name) / "venv")
        programs = Path(name) / "venv" / ("Scripts" if os.name == "nt" else "bin")
        target = ("--python", programs / "python", "--resolution", resolution)
        run("uv", "pip", "install", "--quiet", *target, wheel)
        run(programs / "mwzeval", "data", "examples", ".", cwd=empty)
        reports = {}
        for *options, file in SCORED:
            run(programs / "mwzeval", "evaluate", *options, file, "-q", "-o", "r.json", cwd=empty)
            report = json.loads((empty / "r.json").read_text(encoding="utf-8"))
            reports[file] = [
                (score["score"], score["scope"], score["value"])
                for score in report["meta"]["scores"]
            ]
        return reports


def main(arguments: Sequence[str] | None = None) -> None:
    """Build and check; ends the program with what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=ROOT / "dist", metavar="DIR")
    parser.add_argument("--python", default=sys.executable, help="which Python installs it")
    parser.add_argument(
        "--resolution", choices=RESOLUTIONS, help="which libraries (default: lowest, then newest)"
    )
    parser.add_argument("--tag", help="what the release is tagged, vX.Y.Z")
    asked = parser.parse_args(arguments)
    number = version()
    if asked.tag not in (None, f"v{number}"):
        sys.exit(f"the tag is {asked.tag}, the version {number}")
    for old in asked.output.glob("mwzeval-*"):
        old.unlink()
    run(sys.executable, "-m", "build", "--outdir", asked.output, ROOT)
    wheel = asked.output / f"mwzeval-{number}-py3-none-any.whl"
    sdist = asked.output / f"mwzeval-{number}.tar.gz"
    print(run(sys.executable, "-m", "twine", "check", "--strict", wheel, sdist), end="")
    if wrong := missing_and_other(wheel, sdist):
        sys.exit("\n".join(wrong))
    found = {}
    for resolution in [asked.resolution] if asked.resolution else RESOLUTIONS:
        found[resolution] = scores_of(wheel, asked.python, resolution)
        print(f"installed with the libraries of {resolution}: all samples are scored")
    first, *others = found.values()
    if any(other != first for other in others):
        sys.exit(f"scores depend on the versions of libraries: {found}")
    for path in (wheel, sdist):
        print(f"{path} ({path.stat().st_size / 1e6:.1f} MB)")


if __name__ == "__main__":
    main()
