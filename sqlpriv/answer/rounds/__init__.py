"""Means that are asked for in rounds: histograms say where to clip, and sums follow."""
