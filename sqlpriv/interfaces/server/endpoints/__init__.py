"""The addresses that a vault is served on: what stands above every protocol that is spoken."""
