"""Synthesizers of categories and numbers together: rows fitted to whole tables and slices."""
