"""Where the jobs of a run are done, and what is told of them meanwhile."""
