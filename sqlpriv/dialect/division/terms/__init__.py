"""Terms and prices of queries, and what is public of stored tables."""
