"""gptel's session tree: one folder per session, in it one folder per branch, with a text that the user edits in Emacs.

Read `names`, then `conversation` (turns as text with bounds), `footer` and `lisp` (what Emacs reads), `sidecar` (what
the text cannot hold), then `edits` and `assembly` (what others may have done to it).
"""
