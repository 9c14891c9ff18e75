"""Speed and memory as ratios to the alternatives, measured in one run.

``make bench`` runs all of them; ``python -m benchmarks.engine`` runs one.
"""
