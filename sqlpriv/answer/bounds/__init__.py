"""Bounds and ends that are chosen by noised counts."""
