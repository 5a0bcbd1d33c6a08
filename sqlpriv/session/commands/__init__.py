"""Statements that ask nothing private: declarations, SHOW, DESCRIBE, EVALUATE."""
