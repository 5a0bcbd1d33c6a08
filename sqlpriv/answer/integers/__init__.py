"""Answers in whole numbers that are not negative."""
