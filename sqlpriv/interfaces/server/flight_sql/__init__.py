"""Arrow Flight SQL: a vault as a service that Flight's own clients and drivers call."""
