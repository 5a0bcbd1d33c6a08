"""What a statement costs, how the price is divided, and how it is shown."""
