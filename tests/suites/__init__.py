"""Suites of statements by class, and how many of each are answered."""
