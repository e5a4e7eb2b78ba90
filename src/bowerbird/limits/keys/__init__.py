"""What people say of a credential, before it goes into the vault: which secret fields it has, and which servers it belongs to."""
