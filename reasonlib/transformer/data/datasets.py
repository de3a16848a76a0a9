"""The data sets by name and kind; which simulated stories pre-train, fine-tune and test.

No two of these sets of stories share a seed.
"""

from reasonlib.transformer.data.stories import Story, simulate_stories

__all__ = ["DATA", "labelled_stories", "texts"]

DATA = {
    "simulated": "stand-in",  # the sources translated and read large corpora
    "stories": "stand-in",
    "normal": "regenerated",  # vectors with independent components of mean 0 and variance 1: footnote 4
    "news": "stand-in",  # a real text, where the source speaks of any
}
"""Name to kind; see `reasonlib.tracking.record.KINDS`."""


def texts(number: int, *, stories: int = 640, questions: bool = False) -> list[list[tuple[str, ...]]]:
    """Simulate stories without labels to pre-train on: events, then reports of them.

    Parameters
    ----------
    number
        Of the round: every round has different stories, none of which is used to fine-tune or to test.
    stories
        How many.
    questions
        Whether each ends with its question and answer, as one more sentence.
    """
    results = simulate_stories(stories, shortest=1, longest=4, reports=3, seed=1_000_000 + number)
    return [
        [*story.sentences, (*story.question, story.answer, ".")] if questions else list(story.sentences)
        for story in results
    ]


def labelled_stories(stories: int, seed: int) -> list[Story]:
    """Simulate stories whose questions serve as labels: two to four sentences each."""
    return simulate_stories(stories, shortest=2, longest=4, seed=seed)
