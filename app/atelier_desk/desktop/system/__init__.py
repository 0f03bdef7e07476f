"""What the window shares with the rest of the desktop: a key that works everywhere, and notifications that can be answered."""
