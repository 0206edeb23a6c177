"""Moving conversations: from store to store, from an AI tool into a store, and into an AI tool and back."""
