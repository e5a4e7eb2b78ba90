"""How well a name fits a country, by its letters: weights of two and three letters (letters.tsv), and no names."""
