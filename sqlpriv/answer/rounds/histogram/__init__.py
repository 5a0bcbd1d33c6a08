"""What one noised histogram of all cells shows: its bins, the distribution, and slower tails."""
