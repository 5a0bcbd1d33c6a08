"""What is sent and received: messages, values of every type, states of errors."""
