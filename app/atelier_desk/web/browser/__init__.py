"""Pages that programs make (JavaScript), by an installed browser: started apart from the person's own, let out by a gate alone."""
