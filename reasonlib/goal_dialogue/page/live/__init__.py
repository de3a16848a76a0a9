"""Systems to talk to in the page: figures that need no kernel.

- `chat`: memory networks, and what each of their hops reads, turn by turn;
- `letters`: two taggers, and how they read the letters of an invented name;
- `oov`: the copying network beside N2N, on names that nobody has heard.

With a kernel, `page.widget` does the same for every system.
"""

from reasonlib.goal_dialogue.page.live.chat import chat
from reasonlib.goal_dialogue.page.live.letters import letters
from reasonlib.goal_dialogue.page.live.oov import oov

__all__ = ["chat", "letters", "oov"]
