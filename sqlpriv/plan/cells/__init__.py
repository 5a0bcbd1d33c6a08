"""The cells of an answer: which keys they have, and which of their combinations there are."""
