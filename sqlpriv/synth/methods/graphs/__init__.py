"""Synthesizers that choose a graph of columns before they measure its cliques."""
