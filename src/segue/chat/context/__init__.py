"""What is sent to a model: the system prompt, and as much of the history as fits into the token budget."""
