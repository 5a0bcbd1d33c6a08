"""EXPLAIN PRIVACY: what a statement would measure, cost, and be worth."""
