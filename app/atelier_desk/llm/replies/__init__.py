"""From a streamed answer to a reply."""
