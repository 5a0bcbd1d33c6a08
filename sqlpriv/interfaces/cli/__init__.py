"""The command `sqlpriv`."""
