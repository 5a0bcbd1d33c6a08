"""CREATE SYNTHETIC TABLE: from a statement to a released table, or rows of a kept model."""
