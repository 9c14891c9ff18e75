"""Oracle: dense definitions, written from the textbook, that every test compares with."""
