"""Write the embedded samples: `python -m tools.samples [--check]`.

Generators write dialogues and predictions with the same bytes on every machine and Python version.
Their input are the databases and the examples of DSTC7.
"""

import argparse
import sys
from importlib import import_module

from tools.samples.common import ROOT

SAMPLES = {
    "multiwoz": ("data/sample/data/**/*", "predictions/sample-*"),
    "crosswoz": ("data/crosswoz/sample/*.json", "predictions/crosswoz-sample-*"),
    "dstc7": ("predictions/dstc7-*/*",),
}
"""The modules of the generators, and patterns of their files."""


def generated(name: str) -> dict[str, bytes]:
    """Return the content of a sample's files, by path below the root."""
    files: dict[str, str] = import_module(f"tools.samples.{name}").files()
    return {path: text.encode("utf-8") for path, text in files.items()}


def differences(name: str) -> list[str]:
    """Return the different, missing and extra files of a sample."""
    paths = [path for pattern in SAMPLES[name] for path in ROOT.glob(pattern) if path.is_file()]
    found = {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in paths}
    expected = generated(name)
    every = sorted(found.keys() | expected.keys())
    return [path for path in every if found.get(path) != expected.get(path)]


def main() -> int:
    """Write or check samples; return 1 if a file differs."""
    parser = argparse.ArgumentParser(prog="python -m tools.samples", description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    if parser.parse_args().check:
        wrong = [path for name in SAMPLES for path in differences(name)]
        print("\n".join(wrong) or "all samples are as generated")
        return int(bool(wrong))
    for name in SAMPLES:
        for path, content in generated(name).items():
            target = ROOT / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
    return 0


if __name__ == "__main__":
    sys.exit(main())
