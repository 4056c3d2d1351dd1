"""What came of runs: figures over seeds and tasks, tables, curves."""
