"""The state of a team on the screen: a fold of the engine's tree and stream events, and its labels."""
