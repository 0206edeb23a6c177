"""The transcripts of other tools: read into turns, and conversations of ours written as those tools would.

Read `transcript` (what reading gives), then `preload` (what writing starts from), then the folder of one tool. All of
it is pure: where the files are and how a tool is started is a matter of `segue.integrations`.
"""
