"""Files: reading with limits, atomic writing, downloads, derived data, and the cache."""
