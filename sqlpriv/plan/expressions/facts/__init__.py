"""What is publicly known of an expression's values: types, ends, lists, NULL."""
