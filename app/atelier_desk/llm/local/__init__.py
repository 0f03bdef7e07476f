"""The built-in model server: llama.cpp in a separate process, model files, and downloads."""
