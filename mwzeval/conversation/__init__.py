"""Conversations of users and agents: held turn by turn, kept as trajectories, and resumed.

Nothing here knows a benchmark, which brings goals, users, tools and the judgement.
"""
