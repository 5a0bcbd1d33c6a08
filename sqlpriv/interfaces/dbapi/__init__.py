"""PEP 249 over a session, on a file or on a server."""
