"""What all integrations share: the contract, finding and reading files and databases, the source for the index."""
