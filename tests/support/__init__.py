"""Tests of ``atelier_desk.support``."""
