"""Users' row expressions as the kernel's total ones, and what is publicly known of them."""
