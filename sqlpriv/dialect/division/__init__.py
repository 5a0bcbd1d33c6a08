"""A query as private queries and a tail of plain SQL over their answers.

`divide` walks the whole query, `grouped_select` parts one SELECT into its aggregates and what is
computed of them.
"""
