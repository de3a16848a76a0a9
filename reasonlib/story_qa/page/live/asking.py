"""The figure around a reader of stories: stories to pick, controls, and the first answer as plain HTML."""

import html
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from reasonlib.display import live
from reasonlib.display.plotting import Picture, memory_hops
from reasonlib.story_qa.data.example import TASK_NAMES, Example
from reasonlib.story_qa.data.simulator import simulate
from reasonlib.story_qa.page.ask import Answer

__all__ = ["FOLDER", "asking", "some_stories", "story_title"]

FOLDER = Path(__file__).parent

CHOSEN = (2, 1, 3, 6, 7, 8, 11, 14, 15, 16, 17, 19, 20)  # tasks whose stories are offered, in this order


@lru_cache(maxsize=8)
def some_stories(
    tasks: tuple[int, ...] = CHOSEN, *, seed: int = 3, shortest: int = 4, longest: int = 9
) -> tuple[Example, ...]:
    """Simulate one story of each task, short enough to be read at a glance.

    Parameters
    ----------
    tasks
        Which of the twenty, in the order wanted.
    seed
        The same seed gives the same stories.
    shortest, longest
        Sentences a story should have; a task that has no such story gives its shortest one.
    """
    chosen = []
    for task in tasks:
        examples = simulate(task, 200, seed=seed)
        fitting = [example for example in examples if shortest <= len(example.story) <= longest]
        chosen.append(fitting[-1] if fitting else min(examples, key=lambda example: len(example.story)))
    return tuple(chosen)


def asking(
    name: str,
    scripts: Sequence[Path],
    *,
    label: str,
    ask: Callable[[Sequence[str], str], Answer],
    stories: Sequence[Example],
    words: Sequence[str],
    network: Mapping[str, Any],
    models: Mapping[str, Any],
    about: str,
    reads: str,
) -> Picture:
    """Put a figure together that answers questions about stories.

    Parameters
    ----------
    name, scripts
        Of the figure, and the files that draw it and compute its network.
    label
        What the figure is, for a screen reader.
    ask
        Answers the first story, with the weights that the page gets.
    stories
        What the reader can pick from.
    words
        Those the network knows.
    network
        What its JavaScript class is made of, besides the weights.
    models
        Packed weights, by name.
    about
        One line on the network.
    reads
        How a column of the table begins in words; ``#`` stands for its number.

    Raises
    ------
    ValueError
        If there is no story.
    """
    if not stories:
        raise ValueError("stories must hold at least one story, got none")
    first = ask(stories[0].story, stories[0].question).labelled(stories[0])
    drawn = memory_hops(first.sentences, first.weights, support=first.support, look=first.look)
    return live.figure(
        name,
        label=label,
        body=f"{_form(stories, words)}{_result(first)}{_one_heading(drawn.html)}",
        alt=f"{first.question} {first.text}. {drawn.alt}",
        scripts=scripts,
        styles=[FOLDER / "asking.css"],
        data={"network": network, "stories": [_story(example) for example in stories], "reads": reads},
        models=models,
        about=about,
        offer="With scripts you can pick other stories, write your own, and ask.",
    )


def _story(example: Example) -> Mapping[str, Any]:
    return {
        "story": example.story,
        "question": example.question,
        "answer": ", ".join(example.answer),
        "support": example.support,
    }


def _form(stories: Sequence[Example], words: Sequence[str]) -> str:
    """Write the controls; they stay hidden until the script runs."""
    options = "".join(
        f'<option value="{number}">{html.escape(story_title(example))}</option>'
        for number, example in enumerate(stories)
    )
    listed = html.escape(", ".join(words))
    return (
        '<form class="rr-live-form" autocomplete="off" data-scripted hidden>'
        f'<label class="rr-live-field"><span class="rr-live-name">Story</span>'
        f'<select class="rr-live-picker">{options}<option value="own">Your own story</option>'
        "</select></label>"
        '<details class="rr-live-own"><summary>Change the story, or write your own</summary>'
        '<label class="rr-live-field"><span class="rr-live-name">A sentence a line</span>'
        '<textarea class="rr-live-story" rows="8" spellcheck="false"></textarea></label>'
        f'<details><summary>The words it knows</summary><p class="rr-live-words">{listed}</p>'
        '</details></details><div class="rr-live-row"><label class="rr-live-field">'
        '<span class="rr-live-name">Question</span><input class="rr-live-question" type="text"></label>'
        '<button type="submit" class="rr-live-button rr-live-main">Ask</button></div></form>'
    )


def _one_heading(table: str) -> str:
    """Name the column of marks for what it holds; it is one column, and needs no number."""
    named = table.replace("Weight at mark", "Probability that it is needed")
    return named if named == table else named.replace('<tr><th scope="col" class="rr-hop">1</th></tr>', "")


def story_title(example: Example) -> str:
    """Name a story that can be picked by its task and its question."""
    name = TASK_NAMES.get(example.task, "story")
    return f"{name[0].upper()}{name[1:]}: {example.question}"


def _result(answer: Answer) -> str:
    """Write the first story's answer as plain HTML, in the same places where the script puts its own."""
    right = answer.text == answer.expected
    verdict = "✓ right" if right else f"✗ the story says: {html.escape(str(answer.expected))}"
    bars = "".join(
        f"<li><span>{html.escape(text)}</span>"
        f'<span class="rr-live-bar" style="--share:{share:.4f}"></span><span>{share:.2f}</span></li>'
        for text, share in answer.others
    )
    notes = "".join(f"<li>{html.escape(note[0].upper() + note[1:])}.</li>" for note in answer.notes)
    return (
        '<div class="rr-live-result"><output class="rr-live-said" aria-live="polite">'
        f'<span class="rr-live-asked">{html.escape(answer.question)}</span> '
        f"<strong>{html.escape(answer.text)}</strong> "
        f'<span class="rr-live-verdict">{verdict}</span></output>'
        f'<ol class="rr-live-bars" aria-label="Probability of the likeliest answers">{bars}</ol></div>'
        f'<ul class="rr-live-notes">{notes}</ul>'
    )
