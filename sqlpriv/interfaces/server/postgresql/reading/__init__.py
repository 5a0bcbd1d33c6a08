"""What a client's text says, word by word, before it is parsed."""
