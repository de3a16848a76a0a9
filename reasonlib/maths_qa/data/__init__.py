"""Questions with their answers: the generator, the released files, batches and masks."""
