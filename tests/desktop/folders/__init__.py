"""Tests of the granted folders in the window."""
