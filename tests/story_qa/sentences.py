"""Stories for readers of sentences, as they read them, and the sizes of a tiny BERT."""

from transformers import BertConfig

from reasonlib.story_qa.data.masking import word_tokenizer
from reasonlib.story_qa.data.simulator import simulate
from reasonlib.story_qa.data.tokens import answer_classes, encode_sentences


def tokenizer_of(examples):
    """Return a tokenizer of the words in stories and questions."""
    return word_tokenizer([text for example in examples for text in (*example.story, example.question)])


EXAMPLES = [example for task in (1, 3, 8, 19) for example in simulate(task, 4, seed=3)]
TOKENIZER = tokenizer_of(EXAMPLES)
ANSWERS = answer_classes(EXAMPLES)
STORIES = encode_sentences(EXAMPLES, TOKENIZER, ANSWERS)
SLOTS = 12


def encode_parts(train, test):
    """Encode both parts with the words and answers of the first; return those words and answers, too."""
    tokenizer, answers = tokenizer_of(train), answer_classes(train)
    train_set, test_set = (encode_sentences(part, tokenizer, answers) for part in (train, test))
    return train_set, test_set, tokenizer, answers


def tiny(tokenizer=TOKENIZER, **changes):
    """Return the configuration of a BERT of width 16 without dropout."""
    sizes = {"hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 32}
    dropout = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    return BertConfig(vocab_size=len(tokenizer), **sizes, **dropout, **changes)
