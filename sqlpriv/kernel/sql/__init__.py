"""The algebra as SQL text, and the engine's groups as cells."""
