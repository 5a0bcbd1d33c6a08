"""A free statement over the release table `made` that nobody sees the end of."""

ENDLESS = """SELECT SUM(sin(a.income + b.income + c.income + d.income))
FROM made a, made b, made c, made d"""
"""Free, and not done within the hour: 500^4 rows."""
