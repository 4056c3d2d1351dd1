"""Training that is followed: in runs of the benchmark, and in loops of one's own."""
