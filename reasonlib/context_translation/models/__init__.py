"""The seven systems, one a file, and the translator around them."""
