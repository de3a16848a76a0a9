"""Stories of four tasks for readers of sentences, and the sizes of a tiny BERT."""

from transformers import BertConfig

from reasonlib.story_qa.data.masking import word_tokenizer
from reasonlib.story_qa.data.simulator import simulate
from reasonlib.story_qa.data.tokens import answer_classes, encode_sentences

EXAMPLES = [one for task in (1, 3, 8, 19) for one in simulate(task, 4, seed=3)]
TOKENIZER = word_tokenizer([text for one in EXAMPLES for text in (*one.story, one.question)])
ANSWERS = answer_classes(EXAMPLES)
STORIES = encode_sentences(EXAMPLES, TOKENIZER, ANSWERS)
SLOTS = 12


def tiny(tokenizer=TOKENIZER, **changes):
    """Return the configuration of a BERT of width 16 without dropout."""
    sizes = {"hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 32}
    dropout = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    return BertConfig(vocab_size=len(tokenizer), **sizes, **dropout, **changes)
