"""Synthesizers that measure their tables in one batch and then make rows of them."""
