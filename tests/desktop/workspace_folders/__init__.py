"""Tests of workspace folders in the window."""
