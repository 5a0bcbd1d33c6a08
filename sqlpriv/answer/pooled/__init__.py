"""Figures of strata that are drawn together by what was released."""
