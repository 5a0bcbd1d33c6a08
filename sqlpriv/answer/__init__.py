"""Releases become rows: the estimators, and the table that a statement gives."""
