"""What is told of queries, their terms and prices, and of stored tables, while they are parted."""
