"""What the kernel's proofs are about: contracts, prices, the closed algebra, releases."""
