"""What a person has set outside the program: sqlpriv.toml, and where tokens are kept."""
