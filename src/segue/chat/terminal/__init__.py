"""A person's terminal, over prompt_toolkit and rich, which are imported when it is opened.

Read `person` (what a conversation sees of it), `prompt` (how it reads), `drawing` and `markdown` (how it shows).
"""
