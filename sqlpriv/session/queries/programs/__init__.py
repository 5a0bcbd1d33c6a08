"""What a statement about private rows becomes, what is kept of it, and what it asks the gate."""
