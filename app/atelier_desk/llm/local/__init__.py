"""The built-in model server: llama.cpp in a process of its own, the files it loads, and the models a person can download."""
