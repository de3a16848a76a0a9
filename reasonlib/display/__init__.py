"""How numbers reach a page: figures, tables, code excerpts, the scoreboard."""
