"""The recorded scores of each benchmark: a module that computes them and a file of numbers.

A module has the name of its benchmark and a function `current()`, which returns case → group →
name → number. The name of a group of scores is their signature without versions. All scores are
computed from embedded data.
"""
