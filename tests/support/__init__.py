"""What tests of several rooms share: vaults, tables, sessions, servers."""
