"""Words are hidden by BERT's rule, as `transformers` does it."""

import pytest
import torch
from transformers import DataCollatorForLanguageModeling

from reasonlib.training.masked_words import SPECIALS, UNSCORED, mask_tokens, word_tokenizer

TOKENIZER = word_tokenizer([f"w{number}" for number in range(94)])
MASK, FIRST, WORDS = TOKENIZER.mask_token_id, len(SPECIALS), len(TOKENIZER)


def drawn(seed):
    return torch.Generator().manual_seed(seed)


@pytest.fixture(scope="module")
def tokens():
    tokens = torch.randint(0, WORDS, (400, 500), generator=drawn(0))
    tokens[:, 0], tokens[:, -1] = TOKENIZER.cls_token_id, TOKENIZER.pad_token_id
    return tokens


def shares(tokens, seen, labels):
    """Measure the shares of words asked for, and of those that became [MASK], stay, and are others."""
    marks, selected = tokens < FIRST, labels != UNSCORED
    assert not (selected & marks).any() and torch.equal(seen[~selected], tokens[~selected])
    assert torch.equal(labels[selected], tokens[selected])
    masked, kept = (selected & (seen == other) for other in (MASK, tokens))
    parts = (masked, kept, selected & ~masked & ~kept)
    return [float(selected.sum() / (~marks).sum()), *(float(part.sum() / selected.sum()) for part in parts)]


def test_fifteen_per_cent_are_asked_and_hidden_by_80_10_10(tokens):
    seen, labels = mask_tokens(tokens, words=WORDS, generator=drawn(1))
    same = 0.1 / (WORDS - FIRST)  # a random word may be the word itself
    assert shares(tokens, seen, labels) == pytest.approx([0.15, 0.8, 0.1 + same, 0.1 - same], abs=0.008)
    other = seen[(seen != tokens) & (seen != MASK)]
    assert other.min() == FIRST and other.max() == WORDS - 1  # never a mark, any word


def test_words_are_hidden_as_transformers_does_it(tokens):
    ours = shares(tokens, *mask_tokens(tokens, words=WORDS, generator=drawn(1)))
    collator = DataCollatorForLanguageModeling(TOKENIZER, mlm=True, mlm_probability=0.15, seed=1)
    rows = tokens[:40].clone()
    rows[rows == SPECIALS.index("[UNK]")] = FIRST  # theirs asks for unknown words, too
    theirs = collator([{"input_ids": row} for row in rows.tolist()])
    assert ours == pytest.approx(shares(rows, theirs["input_ids"], theirs["labels"]), abs=0.02)


def test_share_and_rule_are_what_was_asked_for():
    tokens = torch.full((200, 200), 7)
    for share in (0.05, 0.5):
        seen, labels = mask_tokens(tokens, words=9, share=share, rule=(1.0, 0.0, 0.0), generator=drawn(0))
        assert shares(tokens, seen, labels) == pytest.approx([share, 1, 0, 0], abs=0.01)
    labels = mask_tokens(tokens, words=9, first=8, generator=drawn(0))[1]
    assert (labels == UNSCORED).all()  # below the first word


@pytest.mark.parametrize("share", [0.0, 1.0, -0.2])
def test_a_share_is_between_none_and_all(share):
    with pytest.raises(ValueError, match=f"share must be between 0 and 1, got {share}"):
        mask_tokens(torch.ones(1, 1), words=9, share=share)


def test_the_parts_of_the_rule_sum_to_one():
    with pytest.raises(ValueError, match="rule must be three shares that sum to 1"):
        mask_tokens(torch.ones(1, 1), words=9, rule=(0.8, 0.1, 0.2))


def test_the_same_generator_hides_the_same_words():
    tokens = torch.arange(100).reshape(2, 50)
    first, second = (mask_tokens(tokens, words=100, generator=drawn(2)) for _ in range(2))
    assert torch.equal(first[0], second[0]) and torch.equal(first[1], second[1])
    assert torch.equal(tokens, torch.arange(100).reshape(2, 50))  # the tokens themselves stay
