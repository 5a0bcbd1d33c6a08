"""Flight SQL's messages, and the answers to its catalog and option calls."""
