"""What the screens know of a team while it works: a fold of the engine's tree and of stream events, and the words for it."""
