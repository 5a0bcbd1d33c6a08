"""What the rewrites of joins share: whose columns are whose, and joins that are taken out."""
