"""What every room may use and that knows nothing of Atelier's own things."""
