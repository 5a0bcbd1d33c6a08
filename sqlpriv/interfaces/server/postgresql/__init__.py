"""A vault over PostgreSQL's protocol, version 3: for BI tools, drivers and psql."""
