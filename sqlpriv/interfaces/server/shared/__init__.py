"""What servers of one vault have in common, beside their ledger: logins and sessions."""
