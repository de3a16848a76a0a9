"""The Transformer: attention, its parts, what each is for, and BERT pre-training in miniature."""
