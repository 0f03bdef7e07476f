"""SQL: definitions, and the tables they use."""

from __future__ import annotations

from tests.knowledge.parsing.parse_helpers import docs, project, read, references, relations, scopes

SOURCE = """
    -- People.
    CREATE TABLE shop.people (id INT PRIMARY KEY, name TEXT);
    CREATE TABLE orders (id INT, person INT REFERENCES people(id), FOREIGN KEY (id) REFERENCES shop.people (id));
    CREATE VIEW busy AS SELECT p.name, count(*) FROM people p JOIN orders o ON o.person = p.id;
    CREATE INDEX by_name ON people (name);
    CREATE FUNCTION one() RETURNS int AS $$ SELECT 1 $$ LANGUAGE sql;
"""


def test_tables_views_and_the_tables_they_use() -> None:
    found = read("a.sql", SOURCE)
    assert [(type_, name) for type_, name, _start, _end in scopes(found)] == [
        ("table", "people"),
        ("table", "orders"),
        ("view", "busy"),
        ("index", "by_name"),
        ("function", "one"),
    ]
    assert docs(found) == {"people": "People."}
    assert references(found, "mentions") >= {
        ("orders", "people"),
        ("busy", "people"),
        ("busy", "orders"),
        ("by_name", "people"),
    }
    assert relations(project({"a.sql": SOURCE}), "mentions").keys() >= {
        ("a.sql:busy", "a.sql:orders"),
        ("a.sql:by_name", "a.sql:people"),
    }
