"""What one-line commands were asked for: which items of each page answer them, noted in the transaction that saves the page."""
