"""Statements in, plans out: what to ask the kernel, at which price, and what to make of it."""
