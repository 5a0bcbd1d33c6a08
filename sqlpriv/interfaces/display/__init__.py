"""Results, errors and progress as people see them."""
