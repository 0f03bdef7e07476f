"""Selection of the model that answers for an agent."""
