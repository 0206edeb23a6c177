"""Stores that belong to no dialect: the journal, memory, and what stores of one sealed file per session share."""
