"""Distributions that rows are drawn from."""
