"""Rounds in which the next marginal depends on the last answer, for strata alone and pooled."""
