"""What a session holds: the vault, the released tables, the owner's engine."""
