"""Files: read with limits, written whole or not at all, downloaded, derived, cached."""
