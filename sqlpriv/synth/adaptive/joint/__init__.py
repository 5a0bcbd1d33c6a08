"""Strata as parts of one model of everybody."""
