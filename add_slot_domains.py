"""Fill active_domains from placeholders: `python add_slot_domains.py -i IN.json -o OUT.json`."""

import sys

from mwzeval.cli import run_verb

if __name__ == "__main__":
    sys.exit(run_verb("add-slot-domains", "add_slot_domains.py"))
