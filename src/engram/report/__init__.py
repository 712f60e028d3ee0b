"""What came out: numbers, words, figures, and a page that holds them together."""
