"""A vault's ledger taken from PostgreSQL back into a file."""
