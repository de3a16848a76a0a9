"""Text for a language model, sentence pairs for a translator."""
