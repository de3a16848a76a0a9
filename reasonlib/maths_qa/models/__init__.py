"""Systems that answer a question character by character, and the encoder that is pre-trained."""
