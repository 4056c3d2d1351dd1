"""Score a predictions file: `python evaluate.py --bleu --success --richness --input FILE`."""

import sys

from mwzeval.cli import main

if __name__ == "__main__":
    sys.exit(main(["evaluate", *sys.argv[1:]]))
