"""Pipes, FROM t |> WHERE a, as nested SELECTs, and the lists of tokens that they are cut into."""
