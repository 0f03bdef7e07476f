"""SurrealDB embedded: one Store, ordered migrations, one repository a noun, backup and export."""
