"""OpenAI's Responses API: ``POST /responses``, with nothing stored on the server."""
