"""Services for the screens and the command line: one class per subject, no Qt, no printing."""
