"""Visual IQ tests: Raven's matrices, seen by a detector and solved by a hierarchy of Transformers."""
