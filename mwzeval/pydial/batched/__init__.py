"""Many dialogues at once: the simulation in arrays, compiled, equal to the scalar one."""
