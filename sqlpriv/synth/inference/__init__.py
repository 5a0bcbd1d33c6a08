"""From noised marginals to a model."""
