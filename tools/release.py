"""Build the published files, and check them as installed by a user.

`python -m tools.release` writes an sdist and a wheel to `dist/`. It checks that all places have the
same version, that the archives lack no file of the package and have none that is not tracked, that
the wheel has at most 2 MB, that `twine` accepts both, and that the wheel, installed alone with the
lowest and with the newest libraries, scores the samples with the same results. It needs build,
twine and uv, and no dependency of mwzeval.
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
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
MOST_BYTES = 2_000_000
"""Maximum size of the wheel."""
RESOLUTIONS = ("lowest-direct", "highest")
INSIDE = {
    "mwzeval": "mwzeval",
    "data/": "mwzeval/data/",
    **{f"{beside}/": f"mwzeval/data/{beside}/" for beside in ("predictions", "docs")},
}
"""The places of the repository's files in a wheel, by the beginning of their paths."""
SCORED = (
    ("-bsrd", "sample-good.json"),
    ("-g", "sample-lexicalized.json"),
    ("--benchmark", "dstc7", "dstc7-overlap/Ubuntu_subtask_1.json"),
    ("--benchmark", "crosswoz", "crosswoz-sample-dst.json"),
)
"""Options and files that the installed wheel scores without extras and without the network."""


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    """Return the output of a command in an environment without this checkout.

    Ends the program with that output if the command fails.
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
    """Return the version; ends the program if two places have different ones."""
    patterns = {
        "mwzeval/version.py": r'__version__ = "(.+)"',
        "CITATION.cff": r"(?m)^version: (.+)$",
        "CHANGELOG.md": r"(?m)^## (\d\S*)",
    }
    found: dict[str, str] = {}
    for name, pattern in patterns.items():
        matches = re.findall(pattern, (ROOT / name).read_text(encoding="utf-8"))
        found[name] = matches[0] if matches else "none"
    if len(set(found.values())) > 1:
        sys.exit(f"versions differ: {found}")
    return found["CITATION.cff"]


def missing_and_other(wheel: Path, sdist: Path) -> list[str]:
    """Return the files that an archive lacks, and those that the repository does not have."""
    tracked = run("git", "ls-files").splitlines()
    allowed = {
        place + name.removeprefix(start)
        for name in tracked
        for start, place in INSIDE.items()
        if name.startswith(start)
    }
    # pyproject.toml leaves out pages and samples, but no part of the package.
    package = {name for name in tracked if name.startswith("mwzeval")}
    in_wheel = {n for n in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in n}
    with tarfile.open(sdist) as archive:
        in_sdist = {m.name.partition("/")[2] for m in archive.getmembers() if m.isfile()}
    # These files are useless without the repository.
    left_out = (".ci/", ".pre-commit", ".gitignore")
    whole = {name for name in tracked if not name.startswith(left_out)}
    built = {"PKG-INFO", ".gitignore"}
    return [
        *(f"wheel lacks {name}" for name in sorted(package - in_wheel)),
        *(f"wheel has {name}" for name in sorted(in_wheel - allowed)),
        *(f"sdist lacks {name}" for name in sorted(whole - in_sdist)),
        *(f"sdist has {name}" for name in sorted(in_sdist - whole - built)),
    ]


def scores_of(wheel: Path, resolution: str) -> Mapping[str, object]:
    """Return the scores of the samples from a wheel in a new environment."""
    with tempfile.TemporaryDirectory() as name:
        empty = Path(name) / "empty"
        empty.mkdir()
        run("uv", "venv", "--quiet", "--python", sys.executable, Path(name) / "venv")
        programs = Path(name) / "venv" / ("Scripts" if os.name == "nt" else "bin")
        target = ("--python", programs / "python", "--resolution", resolution)
        run("uv", "pip", "install", "--quiet", *target, wheel)
        run(programs / "mwzeval", "data", "examples", ".", cwd=empty)
        found = {}
        for *options, file in SCORED:
            run(programs / "mwzeval", "evaluate", *options, file, "-q", "-o", "r.json", cwd=empty)
            scores = json.loads((empty / "r.json").read_text(encoding="utf-8"))["meta"]["scores"]
            found[file] = [(row["score"], row["scope"], row["value"]) for row in scores]
        return found


def main() -> None:
    """Build and check; ends the program with the problems."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--resolution", choices=RESOLUTIONS, help="which libraries (default: lowest, then newest)"
    )
    parser.add_argument("--tag", help="what the release is tagged, vX.Y.Z")
    asked = parser.parse_args()
    number = version()
    if asked.tag not in (None, f"v{number}"):
        sys.exit(f"the tag is {asked.tag}, the version {number}")
    for old in DIST.glob("mwzeval-*"):
        old.unlink()
    run(sys.executable, "-m", "build", "--outdir", DIST, ROOT)
    wheel = DIST / f"mwzeval-{number}-py3-none-any.whl"
    sdist = DIST / f"mwzeval-{number}.tar.gz"
    print(run(sys.executable, "-m", "twine", "check", "--strict", wheel, sdist), end="")
    if wrong := missing_and_other(wheel, sdist):
        sys.exit("\n".join(wrong))
    if wheel.stat().st_size > MOST_BYTES:
        sys.exit(f"{wheel} has {wheel.stat().st_size / 1e6:.2f} MB, more than {MOST_BYTES / 1e6:g}")
    found = {}
    for resolution in [asked.resolution] if asked.resolution else RESOLUTIONS:
        found[resolution] = scores_of(wheel, resolution)
        print(f"installed with the libraries of {resolution}: all samples are scored")
    first, *others = found.values()
    if any(other != first for other in others):
        sys.exit(f"scores depend on the versions of libraries: {found}")
    for path in (wheel, sdist):
        print(f"{path} ({path.stat().st_size / 1e6:.1f} MB)")


if __name__ == "__main__":
    main()
