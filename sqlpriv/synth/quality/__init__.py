"""How good a synthetic table is: measured from noised numbers, and predicted before paying."""
