"""Java: packages by name, types of fields and variables."""

from __future__ import annotations

from tests.knowledge.parsing.parse_helpers import bindings, docs, imports, project, read, references, relations, scopes

SOURCE = """
    package org.acme.store;

    import java.util.List;
    import static org.acme.Util.help;
    import org.acme.model.*;

    /** A store. */
    @Deprecated
    public class Store extends Base<Item> implements Saver, java.io.Closeable {
        private final Upper upper = new Upper();
        List<Item> items;
        /** Make. */
        public Store(Upper u) { this.upper = u; }
        @Override
        public Item save(int x) throws IOException {
            help();
            upper.raise(x).done();
            for (Item i : items) i.touch();
            var z = new Item(3);
            z.touch();
            return this.make(x);
        }
        interface Inner { void go(); }
        enum Kind { A, B; }
        record Point(int x, int y) {}
    }
"""


def test_definitions_calls_and_types() -> None:
    found = read("Store.java", SOURCE)
    assert [(type_, name) for type_, name, _start, _end in scopes(found)] == [
        ("class", "Store"),
        ("method", "Store.Store"),
        ("method", "Store.save"),
        ("interface", "Store.Inner"),
        ("method", "Store.Inner.go"),
        ("enum", "Store.Kind"),
        ("record", "Store.Point"),
    ]
    assert docs(found) == {"Store": "A store.", "Store.Store": "Make."}
    assert (found.package, found.error_lines) == ("org.acme.store", [])
    assert imports(found) == [
        ("java.util", "List", "List"),
        ("org.acme.Util", "help", "help"),
        ("org.acme.model", "*", ""),
    ]
    assert references(found) >= {
        ("Store.save", "upper.raise"),
        ("Store.save", "upper.raise().done"),
        ("Store.save", "Item"),
        ("Store", "Upper"),
    }
    assert references(found, "inherits") == {("Store", "Base"), ("Store", "Saver"), ("Store", "java.io.Closeable")}
    assert bindings(found) >= {
        ("Store", "self.upper", "Upper()"),
        ("Store", "self.items[]", "Item()"),
        ("Store.save", "()", "Item()"),
    }


def test_relations_through_packages() -> None:
    found = relations(
        project(
            {
                "src/org/acme/store/Store.java": SOURCE,
                "src/org/acme/store/Base.java": "package org.acme.store; "
                "class Base { Item make(int x) { return null; } }",
                "src/org/acme/store/Upper.java": "package org.acme.store; "
                "class Upper { Other raise(int x) { return null; } }",
                "src/org/acme/model/Item.java": "package org.acme.model; public class Item { void touch() {} }",
                "src/org/acme/Util.java": "package org.acme; class Util { static void help() {} }",
            }
        ),
        "calls",
    )
    folder = "src/org/acme/"
    assert found.keys() >= {
        (folder + "store/Store.java:Store.save", folder + "store/Upper.java:Upper.raise"),
        (folder + "store/Store.java:Store.save", folder + "store/Base.java:Base.make"),
        (folder + "store/Store.java:Store.save", folder + "model/Item.java:Item.touch"),
        (folder + "store/Store.java:Store", folder + "store/Upper.java:Upper"),
    }
