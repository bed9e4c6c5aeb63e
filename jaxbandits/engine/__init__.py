"""How the rounds run fast. Knows no algorithm."""
