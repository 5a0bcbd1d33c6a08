"""SQL text in, statements out. sqlglot's tree does not leave this folder."""
