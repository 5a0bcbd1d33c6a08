"""What an owner declares, read and written: budgets, schemas as declarations, and scripts."""
