"""The embedded SurrealDB: one Store, ordered migrations, one repository per kind of row, backup and export."""
