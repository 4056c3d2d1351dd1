"""Timed scripts: `python -m benchmarks` (or `make bench`) runs them and writes `results.md`.

Machines differ and are noisy, so what counts are ratios to a yardstick in the same run: sacreBLEU's
`corpus_bleu` on the same turns.
"""
