"""When a call may be made: ledgers per bucket, charges per credential, and the vault that holds the credentials."""
