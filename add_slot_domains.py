"""Fill active_domains from placeholders: `python add_slot_domains.py -i IN.json -o OUT.json`."""

import sys

from mwzeval.cli import main

if __name__ == "__main__":
    sys.exit(main(["add-slot-domains", *sys.argv[1:]]))
