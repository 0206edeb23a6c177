"""Stores that belong to no dialect: the journal, memory, and the base of stores with one sealed file per session."""
