"""Questions and stories as BERT reads them, its two heads, encoders from folders: with tiny random ones."""

import itertools
import json
import shutil

import pytest
import torch
from story_qa.sentences import tokenizer_of
from transformers import (
    BertConfig,
    BertForQuestionAnswering,
    BertModel,
    DistilBertConfig,
    DistilBertModel,
    PreTrainedTokenizerFast,
)

from reasonlib.errors import UserError
from reasonlib.story_qa.data.simulator import simulate
from reasonlib.story_qa.data.tokens import Pair, StoryTokens, stack
from reasonlib.story_qa.experiments import pretrain
from reasonlib.story_qa.models import bert
from reasonlib.story_qa.models.bert import AnswerReader, SpanOutput, SpanReader, load_encoder

EXAMPLES = [example for task in (1, 3, 8) for example in simulate(task, 5, seed=3)]
TOKENIZER = tokenizer_of(EXAMPLES)
CLS, SEP = TOKENIZER.cls_token_id, TOKENIZER.sep_token_id
SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 32}


def tiny(seed=0, kind=BertModel, **changes):
    torch.manual_seed(seed)
    config = BertConfig(vocab_size=len(TOKENIZER), initializer_range=0.3, **{**SIZES, **changes})
    return kind(config).eval()


@pytest.fixture(scope="module")
def encoder():
    return tiny()


@pytest.fixture
def batch():
    tokens = StoryTokens(TOKENIZER)
    return stack([tokens.pair(example.question, example.story[-6:]) for example in EXAMPLES[:8]])


# Pairs


def ids(text):
    return TOKENIZER(text, add_special_tokens=False)["input_ids"]


def test_a_pair_by_hand():
    pair = StoryTokens(TOKENIZER).pair("Where is Mary?", ["John went to the garden.", "Mary moved there."])
    question, story = ids("where is mary ?"), ids("john went to the garden . mary moved there .")
    assert pair.tokens == [CLS, *question, SEP, *story, SEP]
    assert pair.segments == [0] * (len(question) + 2) + [1] * (len(story) + 1)
    assert pair.dropped == 0 and len(question) == 4 and len(story) == 10


def test_the_transformers_tokenizer_packs_the_same_pair():
    """Beside `tokenizer(text, pair)` with BERT's own template."""
    from tokenizers.processors import BertProcessing

    peer = PreTrainedTokenizerFast(
        tokenizer_object=TOKENIZER.backend_tokenizer, **TOKENIZER.special_tokens_map
    )
    peer.backend_tokenizer.post_processor = BertProcessing(("[SEP]", SEP), ("[CLS]", CLS))
    for example in EXAMPLES[:3]:
        theirs = peer(example.question, " ".join(example.story), return_token_type_ids=True)
        ours = StoryTokens(TOKENIZER).pair(example.question, example.story)
        assert theirs["input_ids"] == ours.tokens and theirs["token_type_ids"] == ours.segments


def test_a_story_longer_than_512_tokens_drops_its_oldest_sentences_and_says_how_many():
    story = [f"Mary went to the {room}." for room in ("garden", "kitchen") for _ in range(60)]
    tokens = StoryTokens(TOKENIZER)
    sentence_length = len(tokens.sentence(story[0]))
    assert sentence_length * len(story) > 512
    pair = tokens.pair("Where is Mary?", story)
    kept = (512 - 3 - 4) // sentence_length
    assert pair.dropped == 120 - kept and 512 - sentence_length < len(pair.tokens) <= 512
    assert pair.tokens == tokens.pair("Where is Mary?", story[-kept:]).tokens
    assert tokens.pair("Where is Mary?", story[-kept:]).dropped == 0


def test_a_story_that_just_fits_is_whole():
    story = ["Mary went to the garden.", "John went to the kitchen."]
    whole = StoryTokens(TOKENIZER).pair("Where is Mary?", story)
    length = len(whole.tokens)
    assert StoryTokens(TOKENIZER, longest=length).pair("Where is Mary?", story) == whole
    shorter = StoryTokens(TOKENIZER, longest=length - 1).pair("Where is Mary?", story)
    assert (
        shorter.dropped == 1
        and shorter.tokens == StoryTokens(TOKENIZER).pair("Where is Mary?", story[1:]).tokens
    )


def test_no_later_sentence_is_kept_once_an_earlier_one_did_not_fit():
    story = ["John.", "Mary went to the garden and John went to the kitchen.", "Mary."]
    pair = StoryTokens(TOKENIZER, longest=12).pair("Where is Mary?", story)
    assert pair.dropped == 2 and pair.tokens[-3:] == [*ids("mary ."), SEP]


def test_a_question_alone_may_not_fit():
    tokens = StoryTokens(TOKENIZER, longest=7)
    assert tokens.pair("Where is Mary?", []) == Pair(
        [CLS, *ids("where is mary ?"), SEP, SEP], [0] * 6 + [1], 0
    )
    assert tokens.pair("Where is Mary?", ["Mary."]).dropped == 1
    with pytest.raises(ValueError, match="question must fit into 6 tokens, got 4"):
        StoryTokens(TOKENIZER, longest=6).pair("Where is Mary?", [])


def test_each_sentence_is_tokenised_once():
    tokenised = []

    class Counting:
        cls_token_id, sep_token_id = CLS, SEP

        def __call__(self, text, **options):
            tokenised.append(text)
            return TOKENIZER(text, **options)

    tokens = StoryTokens(Counting())
    for example in EXAMPLES:
        tokens.pair(example.question, example.story)
    assert (
        len(tokenised)
        == len(set(tokenised))
        == len({text for example in EXAMPLES for text in (*example.story, example.question)})
    )


def test_padding_a_batch():
    batch = stack([Pair([2, 9, 3, 3], [0, 0, 0, 1], 0), Pair([2, 3], [0, 0], 1)], padding=7)
    assert batch.tokens.tolist() == [[2, 9, 3, 3], [2, 3, 7, 7]]
    assert batch.segments.tolist() == [[0, 0, 0, 1], [0, 0, 0, 0]]
    assert batch.mask.tolist() == [[True] * 4, [True, True, False, False]]
    assert {tensor.device.type for tensor in batch.to("meta")} == {"meta"}


# Answers


def test_a_reader_scores_the_vector_of_cls(encoder, batch):
    """Beside the encoder run on each question alone, without padding."""
    reader = AnswerReader(encoder, answers=5).eval()
    read = reader(batch)
    assert read.logits.shape == (8, 5) and read.hidden.shape == (*batch.tokens.shape, 16)
    assert read.attention is None
    for row in range(8):
        length = int(batch.mask[row].sum())
        alone = encoder(
            input_ids=batch.tokens[row, None, :length], token_type_ids=batch.segments[row, None, :length]
        ).last_hidden_state
        torch.testing.assert_close(read.hidden[row, :length], alone[0], atol=1e-5, rtol=1e-4)
        expected = reader.answer.weight @ alone[0, 0] + reader.answer.bias
        torch.testing.assert_close(read.logits[row], expected, atol=1e-5, rtol=1e-4)


def test_what_stands_in_the_padding_changes_nothing(encoder, batch):
    reader = AnswerReader(encoder, answers=5).eval()
    assert not batch.mask.all()
    other = batch._replace(
        tokens=torch.where(batch.mask, batch.tokens, 9), segments=torch.where(batch.mask, batch.segments, 1)
    )
    torch.testing.assert_close(reader(other).logits, reader(batch).logits)


def test_story_and_question_are_told_apart_by_their_segments(encoder, batch):
    reader = AnswerReader(encoder, answers=5).eval()
    swapped = batch._replace(segments=1 - batch.segments)
    assert (reader(swapped).logits - reader(batch).logits).abs().max() > 1e-3


def test_attention_of_every_head(encoder, batch):
    reader = AnswerReader(encoder, answers=5).eval()
    usual = encoder.config._attn_implementation
    read, plain = reader(batch, attention=True), reader(batch)
    questions, length = batch.tokens.shape
    assert read.attention.shape == (questions, 2, 4, length, length)
    torch.testing.assert_close(read.attention.sum(-1), torch.ones(questions, 2, 4, length))
    hidden = ~batch.mask[:, None, None, None, :].expand_as(read.attention)
    assert read.attention[hidden].max() < 1e-6
    torch.testing.assert_close(read.logits, plain.logits, atol=1e-5, rtol=1e-4)
    assert encoder.config._attn_implementation == usual and plain.attention is None


def test_dropout_only_while_training(encoder, batch):
    reader = AnswerReader(encoder, answers=5, dropout=0.5).eval()
    assert torch.equal(reader(batch).logits, reader(batch).logits)
    reader.dropout.train()
    assert not torch.equal(reader(batch).logits, reader(batch).logits)


def test_a_choice_needs_two_answers(encoder):
    with pytest.raises(ValueError, match="answers must be at least 2, got 1"):
        AnswerReader(encoder, answers=1)


def test_an_encoder_without_segments_is_read_too(batch):
    torch.manual_seed(0)
    config = DistilBertConfig(vocab_size=len(TOKENIZER), dim=16, n_layers=1, n_heads=2, hidden_dim=32)
    reader = AnswerReader(DistilBertModel(config), answers=3).eval()
    assert torch.equal(reader(batch).logits, reader(batch._replace(segments=1 - batch.segments)).logits)


# Spans


def test_spans_are_scored_as_transformers_scores_them(batch):
    theirs = tiny(kind=BertForQuestionAnswering)
    ours = SpanReader(theirs.bert, mark=SEP)
    ours.span.load_state_dict(theirs.qa_outputs.state_dict())
    span = ours(batch)
    peer = theirs(input_ids=batch.tokens, token_type_ids=batch.segments, attention_mask=batch.mask.long())
    story = batch.mask & (batch.segments == 1) & (batch.tokens != SEP)
    for mine, their in ((span.start, peer.start_logits), (span.end, peer.end_logits)):
        assert mine.shape == batch.tokens.shape
        torch.testing.assert_close(mine[story], their[story])
        assert (mine[~story] == -torch.inf).all()


def test_an_answer_lies_in_the_story(batch):
    for row, (start, end) in enumerate(SpanReader(tiny(), mark=SEP)(batch).best()):
        story = (batch.segments[row] == 1).nonzero().flatten()
        assert story[0] <= start <= end < story[0] + (batch.mask[row] & (batch.segments[row] == 1)).sum() - 1


@pytest.mark.parametrize("longest", [1, 3, 12])
def test_the_best_span_is_the_best_of_all(longest):
    generator = torch.Generator().manual_seed(longest)
    start, end = torch.randn(2, 20, 15, generator=generator)
    start[:, :4] = end[:, :4] = -torch.inf
    spans = SpanOutput(start, end).best(longest)
    for row, span in enumerate(spans):
        every = itertools.product(range(15), range(15))
        allowed = [(i, j) for i, j in every if i <= j < i + longest]
        assert span == max(allowed, key=lambda ij: (start[row, ij[0]] + end[row, ij[1]]).item())
    assert SpanOutput(start, end).best() == SpanOutput(start, end).best(12)


def test_an_answer_does_not_end_before_it_starts():
    start, end = torch.full((2, 1, 6), -5.0)
    start[0, 4], end[0, 1] = 9.0, 8.0
    assert SpanOutput(start, end).best() == [(4, 4)]


# Encoders from folders


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("encoders") / "tiny"
    pretrain.save_encoder(tiny_pretraining(), TOKENIZER, folder)
    return folder


def tiny_pretraining():
    return pretrain.new_model(pretrain.EncoderSize(layers=1, heads=2, width=8), len(TOKENIZER))


def test_an_encoder_comes_back_from_its_folder(folder, batch, monkeypatch):
    encoder, tokenizer = load_encoder(folder)
    assert next(encoder.parameters()).dtype == torch.float32  # half precision on disk only
    for example in EXAMPLES:
        assert StoryTokens(tokenizer).pair(example.question, example.story) == StoryTokens(TOKENIZER).pair(
            example.question, example.story
        )
    before = AnswerReader(tiny_pretraining().bert, answers=3).eval()
    after = AnswerReader(encoder, answers=3).eval()
    torch.testing.assert_close(after(batch).hidden, before(batch).hidden, atol=0.02, rtol=0)
    monkeypatch.setattr(bert, "BUNDLED", folder)
    shipped, _ = load_encoder()
    for name, tensor in encoder.state_dict().items():
        assert torch.equal(shipped.state_dict()[name], tensor)


def test_loading_draws_nothing(folder):
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    load_encoder(folder)
    assert torch.equal(torch.rand(3), expected)


def change(file, **values):
    file.write_text(json.dumps({**json.loads(file.read_text()), **values}))


def cut(file):
    file.write_bytes(file.read_bytes()[:200])


def no_tokenizer(folder):
    for file in folder.glob("token*"):
        file.unlink()


def no_marks(folder):
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=TOKENIZER.backend_tokenizer, unk_token="[UNK]")
    no_tokenizer(folder)
    tokenizer.save_pretrained(folder)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (shutil.rmtree, "there is no such folder; give a folder with config.json, weights and tokenizer"),
        (lambda f: [file.unlink() for file in f.iterdir()], "no encoder could be loaded"),
        (lambda f: (f / "config.json").write_text("{"), "no encoder could be loaded .*JSON"),
        (lambda f: (f / "config.json").write_text("{}"), "no encoder could be loaded .*model_type"),
        (lambda f: change(f / "config.json", model_type="nobody"), "no encoder could be loaded .*nobody"),
        (lambda f: change(f / "config.json", hidden_size=12), "no encoder could be loaded"),
        (lambda f: (f / "model.safetensors").unlink(), "no encoder could be loaded .*model.safetensors"),
        (lambda f: cut(f / "model.safetensors"), "no encoder could be loaded .*header"),
        (lambda f: cut(f / "tokenizer.json"), "no encoder could be loaded"),
        (no_tokenizer, "its tokenizer knows no words; are the tokenizer's files missing"),
        (no_marks, r"its tokenizer has no \[CLS\] and \[SEP\]; choose an encoder of the BERT family"),
    ],
)
def test_what_is_no_encoder_is_one_line(folder, tmp_path, damage, message):
    broken = tmp_path / "broken"
    shutil.copytree(folder, broken)
    damage(broken)
    with pytest.raises(UserError, match=message) as caught:
        load_encoder(broken)
    assert str(caught.value).startswith(f"{broken}: ") and "\n" not in str(caught.value)
