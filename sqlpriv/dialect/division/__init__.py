"""A query as private queries and a tail of plain SQL over their answers.

`markers` keeps our clauses through sqlglot's parser, `grouped_select` parts one SELECT into its
aggregates and what is computed of them, `divide` walks the whole query.
"""
