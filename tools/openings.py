"""Measure how many opening requests lead to the right API call.

    python tools/openings.py [--model copying] [--file tests/goal_dialogue/data/opening_requests.jsonl]

Each request of the file was typed as people type, and says which API call it should lead to. The rest of the
conversation is scripted: what the system asks for, and the request did not give, gets a fixed answer. Beside
it stands how many do so word for word, after a "hello". With ``--write`` the counts go to
``opening_requests.results.json`` beside the file.
"""

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

from reasonlib.goal_dialogue.data.world import SLOTS
from reasonlib.goal_dialogue.page.chat import MODELS, Conversation, open_conversation
from reasonlib.goal_dialogue.page.listener import QUESTIONS, Listener

FILE = Path(__file__).parents[1] / "tests" / "goal_dialogue" / "data" / "opening_requests.jsonl"
ANSWERS = {"cuisine": "british", "location": "london", "number": "two", "price": "moderate"}
GREETING = "hello what can i help you with today"


def called(talk: Listener | Conversation, request: str) -> tuple[list[str], str]:
    """Hold the conversation; return the arguments of its API call and what was remarked on the way."""
    line, remarks = request, []
    for _ in range(7):
        replies = talk.say(line)
        remarks += [reply.remark for reply in replies if reply.remark]
        for reply in reversed(replies):
            if reply.text.startswith("api_call"):
                return reply.text.split()[1:], "; ".join(remarks)
        last = replies[-1].text if replies else ""
        if last == GREETING:
            line = "a table please"
        elif last in QUESTIONS:
            line = ANSWERS[QUESTIONS[last]]
        else:
            break
    return [], "; ".join(remarks)


def is_right(request: dict[str, Any], arguments: list[str], remarks: str) -> bool:
    """Whether the call is the right one; ``!expensive`` is any price but that."""
    if len(arguments) != len(SLOTS) or ("lacks" in request and "there is no" not in remarks):
        return False
    for slot, value in zip(SLOTS, arguments, strict=True):
        expected = request["call"][slot] or ANSWERS[slot]
        if value == expected[1:] if expected.startswith("!") else value != expected:
            return False
    return True


def requests(path: Path = FILE) -> list[dict[str, Any]]:
    """Read the requests of a file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def measure(model: str, path: Path = FILE, *, plain: bool = False) -> tuple[Counter[str], list[str]]:
    """Count right calls by register; list the requests that led elsewhere."""
    right: Counter[str] = Counter()
    wrong = []
    for request in requests(path):
        conversation = open_conversation(model)
        if plain:
            conversation.say("hello")
        arguments, remarks = called(conversation if plain else Listener(conversation), request["text"])
        good = is_right(request, arguments, remarks)
        right[request["register"]] += good
        wrong += [] if good else [f"{request['text']} -> {' '.join(arguments)}"]
    return right, wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", action="append", choices=list(MODELS))
    parser.add_argument("--file", type=Path, default=FILE)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    table = {}
    for model in options.model or ["copying", "rules", "n2n"]:
        counts, wrong = measure(model, options.file)
        plain = measure(model, options.file, plain=True)[0].total()
        table[model] = {"right": counts.total(), "word for word": plain, "by register": dict(counts)}
        print(model, table[model], *wrong, sep="\n  ")
    if options.write:
        content = {"requests": len(requests(options.file)), "models": table}
        target = options.file.with_suffix(".results.json")
        target.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
