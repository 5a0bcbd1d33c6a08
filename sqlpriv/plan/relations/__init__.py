"""FROM, WHERE and subqueries as the kernel's relations."""
