"""Joins of private rows with groups that are an answer of their own."""
