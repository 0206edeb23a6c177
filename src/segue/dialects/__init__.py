"""The tools Segue speaks for: each keeps its commands, its words and its places, over the same engine."""
