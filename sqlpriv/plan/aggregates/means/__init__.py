"""Means, variances and quantiles that are measured in rounds: bins, levels, and which queries."""
