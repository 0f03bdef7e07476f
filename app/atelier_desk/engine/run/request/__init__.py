"""Model requests and the processing of replies."""
