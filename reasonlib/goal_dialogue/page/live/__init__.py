"""Systems to talk to in the page: figures that need no kernel.

- `chat`: memory networks, and what each of their hops reads, turn by turn.

With a kernel, `page.widget` does the same for every system.
"""

from reasonlib.goal_dialogue.page.live.chat import chat

__all__ = ["chat"]
