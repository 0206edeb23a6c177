"""Holds a conversation: what is asked, who answers, and how the two are recorded.

Read `agent` (whoever answers), `engine` (one exchange), `window` (what of the history is sent), then `repl`.
"""
