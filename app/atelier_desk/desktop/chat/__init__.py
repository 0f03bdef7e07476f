"""The middle column: header, transcript and composer."""
