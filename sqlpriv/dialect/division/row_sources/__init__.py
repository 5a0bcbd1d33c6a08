"""Parts of FROM that write rows, or turn columns and rows into one another."""
