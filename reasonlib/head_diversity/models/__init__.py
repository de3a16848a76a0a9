"""Two Transformers, what makes their heads differ, and what measures it."""
