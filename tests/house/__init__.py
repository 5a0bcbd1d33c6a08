"""The house itself: its shape, its words, its docs."""
