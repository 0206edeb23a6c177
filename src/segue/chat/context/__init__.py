"""What is sent to a model: the system prompt, and the part of the history that fits into the token budget."""
