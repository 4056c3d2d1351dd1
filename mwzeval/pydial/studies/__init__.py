"""Studies of what runs have learned: other tasks and users than those of training."""
