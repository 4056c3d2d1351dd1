"""`python -m mwzeval` is the same as `mwzeval`."""

import sys

from mwzeval.cli import main

if __name__ == "__main__":
    sys.exit(main())
