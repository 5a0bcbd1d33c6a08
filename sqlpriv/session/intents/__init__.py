"""What sessions on one ledger are about to buy, so that none buys the same again."""
