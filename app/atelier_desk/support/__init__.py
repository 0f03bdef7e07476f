"""Helpers for all packages that know nothing of Atelier's own concepts."""
