"""The one use case: execute SQL for somebody, on a vault, within its budget."""
