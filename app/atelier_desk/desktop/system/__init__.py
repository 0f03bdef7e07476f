"""Desktop integration: a global shortcut, and notifications with buttons."""
