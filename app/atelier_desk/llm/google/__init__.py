"""Google's Gemini API: ``POST /models/{model}:streamGenerateContent``."""
