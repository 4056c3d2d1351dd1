"""Stress conditions of live runs: tool faults, changes of the goal, noisy words, attitudes."""
