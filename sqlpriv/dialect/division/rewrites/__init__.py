"""Forms of SQL that are written as other ones before a query is parted.

Each file has one form. None of them decides what may be answered: the planner tries what is written
here as it tries what a user writes.
"""
