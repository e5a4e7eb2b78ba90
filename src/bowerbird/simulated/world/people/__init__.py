"""Who is in the world: accounts, how they present themselves, whom they follow."""
