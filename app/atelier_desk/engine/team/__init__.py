"""Sub-agents at work: planning them within their parent's rights, starting, watching and ending them."""
