"""What a synthesizer is, and what it may ask."""
