"""What several services need."""
