"""C#: namespaces, properties, XML comments."""

from __future__ import annotations

from tests.knowledge.parsing.parse_helpers import bindings, docs, imports, project, read, references, relations, scopes

SOURCE = """
    using System;
    using static Acme.Util;
    using J = Acme.Json;
    namespace Acme.Store {
        /// <summary>A store.</summary>
        public class Store<T> : Base, ISaver {
            private readonly Upper upper = new Upper();
            public Item First { get; set; }
            public Store(Upper u) : base(u) { upper = u; }
            public async Task<Item> Save(int x) {
                upper.Raise(x);
                var z = new Item();
                z.Touch();
                foreach (var i in Items) i.Touch();
                Helper();
                return await this.Make(x);
                void Local() { }
            }
        }
        interface ISaver { void Save(); }
        struct P { }
        enum E { A }
        record R(int X);
    }
"""


def test_definitions_calls_and_types() -> None:
    found = read("Store.cs", SOURCE)
    assert [(type_, name) for type_, name, _start, _end in scopes(found)] == [
        ("namespace", "Acme.Store"),
        ("class", "Acme.Store.Store"),
        ("property", "Acme.Store.Store.First"),
        ("method", "Acme.Store.Store.Store"),
        ("method", "Acme.Store.Store.Save"),
        ("function", "Acme.Store.Store.Save.Local"),
        ("interface", "Acme.Store.ISaver"),
        ("method", "Acme.Store.ISaver.Save"),
        ("struct", "Acme.Store.P"),
        ("enum", "Acme.Store.E"),
        ("record", "Acme.Store.R"),
    ]
    assert docs(found) == {"Acme.Store.Store": "A store."}
    assert (found.package, found.error_lines) == ("Acme.Store", [])
    assert imports(found) == [("System", "*", ""), ("Acme.Util", "*", ""), ("Acme.Json", "", "J")]
    save = "Acme.Store.Store.Save"
    assert references(found) >= {
        (save, "upper.Raise"),
        (save, "Item"),
        (save, "z.Touch"),
        (save, "Helper"),
        (save, "this.Make"),
    }
    assert references(found, "inherits") == {("Acme.Store.Store", "Base"), ("Acme.Store.Store", "ISaver")}
    assert bindings(found) >= {
        ("Acme.Store.Store", "self.First", "Item()"),
        ("Acme.Store.Store", "self.upper", "Upper()"),
        (save, "()", "Item()"),
    }


def test_relations_through_namespaces() -> None:
    found = relations(
        project(
            {
                "Store.cs": SOURCE,
                "Upper.cs": "namespace Acme.Store; class Upper { void Raise(int x) {} } class Item { void Touch() {} }",
                "Base.cs": "namespace Acme; class Base { Item Make(int x) { return null; } void Helper() {} }",
            }
        ),
        "calls",
    )
    save = "Store.cs:Acme.Store.Store.Save"
    assert found.keys() >= {
        (save, "Upper.cs:Upper.Raise"),
        (save, "Upper.cs:Item.Touch"),
        (save, "Base.cs:Base.Make"),
        (save, "Base.cs:Base.Helper"),
    }
