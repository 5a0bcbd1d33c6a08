"""Tables that are linked: rows of a child table dealt out to the rows of its parent."""
