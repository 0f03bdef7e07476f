"""What an agent may do without asking: textual rules, what they cover, and the verdict about a call. Pure."""
