"""PostgreSQL's catalog of a vault, in a database of its own without rows."""
