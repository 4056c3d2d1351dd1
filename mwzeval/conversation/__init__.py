"""Conversations between users and agents: the turn loop, trajectories, and resumable runs.

This package is independent of any benchmark. A benchmark provides goals, users, tools and a judge.
"""
