"""The verbs for every benchmark but MultiWOZ: each the same for all, by `mwzeval.benchmark`."""
