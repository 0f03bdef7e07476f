"""First start: language, look, a model that answers, and three goals to begin with."""
