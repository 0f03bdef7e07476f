"""Running sub-agents: planning within their parent's rights, starting, watching and ending them."""
