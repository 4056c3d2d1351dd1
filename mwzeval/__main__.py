"""`python -m mwzeval` is the same as `mwzeval`."""

import sys


def start() -> int:
    """Run the command line and return the exit code, also if Ctrl-C interrupts the imports."""
    try:
        from mwzeval.cli import main
    except KeyboardInterrupt:
        print("interrupted; nothing was written", file=sys.stderr)
        return 130
    return main()


if __name__ == "__main__":
    sys.exit(start())
