"""The row-wise DuckDB macros that the kernel's SQL calls; each *.sql file is one of them."""
