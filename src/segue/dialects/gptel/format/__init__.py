"""gptel's session tree: a folder a session, a folder a branch, and in it a text that a person edits in Emacs.

Read `names`, then `conversation` (turns as text with bounds), `footer` and `lisp` (what Emacs reads), `sidecar` (what
the text cannot hold), then `edits` and `assembly` (what others may have done to it).
"""
