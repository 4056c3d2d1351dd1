"""The venue database, in memory, searched with fuzzy matching."""
