"""A BERT that reads sentence by sentence, answers in the page and marks the sentences it needed.

>>> evidence(stories=[Example(
...     task=1, story=("Mary went to the garden.", "John went to the office."), question="Where is Mary?",
...     answer=("garden",), support=(0,), group=0,
... )])
Where is Mary? garden. ...
"""

from collections.abc import Sequence

from reasonlib.display import live
from reasonlib.display.live.encoders import tokens_of, trim_positions
from reasonlib.display.plotting import Picture
from reasonlib.story_qa.data.example import Example
from reasonlib.story_qa.models.pretrained import PretrainedEvidence, load_evidence
from reasonlib.story_qa.page.ask import ask_evidence
from reasonlib.story_qa.page.live.asking import FOLDER, asking, some_stories

__all__ = ["SCRIPTS", "evidence"]

SCRIPTS = (FOLDER / "asking.js", FOLDER / "evidence_reader.js")

TASKS = (7, 2, 3, 5, 8, 12, 14, 15, 16, 17, 19, 20)  # tasks whose stories are offered, in this order


def evidence(
    reader: PretrainedEvidence | None = None, *, stories: Sequence[Example] | None = None
) -> Picture:
    """Put a BERT that marks what it needs into the page: the reader picks or writes a story, and asks.

    Parameters
    ----------
    reader
        By default the one that is bundled with the library.
    stories
        What can be picked; the first one's answer is computed here. By default other stories than those of
        the memory network's figure.

    Raises
    ------
    ValueError
        If there is no story.
    """
    reader = load_evidence() if reader is None else reader
    model, sizes = reader.model, reader.model.encoder.config
    longest = model.places.shape[0]  # no sentence of a story has more tokens
    state = trim_positions(model.state_dict(), longest)
    rounded = reader._replace(model=live.rounded(model))
    words = tokens_of(reader.tokenizer)
    count = sum(tensor.numel() for tensor in model.parameters())
    return asking(
        "evidence",
        SCRIPTS,
        label="Ask the reader that marks its evidence",
        ask=lambda story, question: ask_evidence(rounded, story, question),
        stories=some_stories(TASKS, seed=11) if stories is None else tuple(stories),
        words=[word for word in words if word[0].isalpha()],
        network={
            "sizes": {
                "width": sizes.hidden_size,
                "layers": sizes.num_hidden_layers,
                "encoderHeads": sizes.num_attention_heads,
                "heads": model.config.heads,
                "steps": model.config.steps,
                "slots": model.config.slots,
                "longest": longest - 1,  # beside [CLS]
            },
            "words": words,
            "answers": reader.answers.tokens,
        },
        models={"reader": live.pack_weights(state)},
        about=f"A BERT of {count:,} parameters that reads sentence by sentence, then the story in "
        f"{model.config.steps} steps.",
        reads="It needs",
    )
