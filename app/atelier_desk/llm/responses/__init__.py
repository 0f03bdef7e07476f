"""OpenAI's Responses API: ``POST /responses``, with nothing kept on the server."""
