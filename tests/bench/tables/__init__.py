"""Every table of ../shared/data: what an owner would declare of it, and how far rows are apart."""
