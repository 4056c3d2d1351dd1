"""Score a predictions file: `python evaluate.py --bleu --success --richness --input FILE`."""

import sys

from mwzeval.cli import run_verb

if __name__ == "__main__":
    sys.exit(run_verb("evaluate", "evaluate.py"))
