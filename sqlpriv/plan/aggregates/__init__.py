"""Aggregate calls as the kernel's queries, with the price of each."""
