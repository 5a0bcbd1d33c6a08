"""Estimators: what is made of noised numbers before they become rows."""
