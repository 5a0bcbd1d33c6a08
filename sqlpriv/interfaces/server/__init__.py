"""A vault over the network: Arrow Flight SQL, for its own clients and for stock ones."""
