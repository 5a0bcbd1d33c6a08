"""Statements by which clients look what is there: they give no row."""
