"""Data types that all benchmarks share: tables of units, measures, and scores with signatures."""
