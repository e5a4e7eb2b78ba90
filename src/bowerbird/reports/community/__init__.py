"""What a store says of a community: who belongs, why, and how many are missed."""
