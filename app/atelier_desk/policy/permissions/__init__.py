"""What an agent may do without asking: rules in text, what they cover, and the verdict about a call. Pure."""
