"""The models of visual IQ tests, one system a file."""
