"""What an owner could declare of tables, read from their rows and proposed as a text."""
