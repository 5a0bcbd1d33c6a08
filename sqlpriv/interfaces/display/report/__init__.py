"""The page that `sqlpriv report` writes: its parts, its tables and its pictures."""
