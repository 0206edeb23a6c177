"""A change, worked through story by story: what orchestrators and agents do, free of terminals.

Read `desk` (what every step works with), `copies` (how a session outlives the temporary folder), `sessions` (begin,
go on, end), then `prompt`, `workers` and `process` (how an agent is told, chosen and run), and `orchestrator`, which
puts them together and tells its `news`.
"""
