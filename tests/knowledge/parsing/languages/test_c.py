"""C and C++: declarators of every form, methods defined outside their class, includes."""

from __future__ import annotations

from tests.knowledge.parsing.parse_helpers import (
    bindings,
    docs,
    imports,
    project,
    read,
    references,
    relations,
    scopes,
    signatures,
)

SOURCE = """
    #include <stdio.h>
    #include "util/upper.h"
    #define MAX 3
    #define TWICE(x) ((x)*2)

    /* A store. */
    struct store { struct upper *up; int n; };
    typedef struct { int x; } point_t;
    typedef int (*handler)(int);
    enum kind { A, B };
    static int helper(int x);

    /* Saves. */
    static struct item *
    save(struct store *s, int x)
    {
        raise_it(s->up, x);
        s->up->go(x);
        return helper(TWICE(x));
    }
    int main(void) { save(0, 1); }
"""


CPP = """
    #include "a.h"
    namespace acme::inner {
    using other::Thing;
    /// A store.
    template <typename T>
    class Store : public Base<T>, private Saver {
     public:
      Store(int x);
      ~Store();
      void save(int x) const;
      static Store* make() { return new Store(1); }
      Upper& up() { return *up_; }
     private:
      std::unique_ptr<Upper> up_;
    };
    void Store::save(int x) const { up_->raise(x); this->helper(); auto z = new Item(); z->touch(); std::move(x); }
    bool operator==(const P& a, const P& b) { return true; }
    enum class Kind { A };
    }
"""


def test_c() -> None:
    found = read("a.c", SOURCE)
    assert scopes(found) == [
        ("constant", "MAX", 3, 3),
        ("macro", "TWICE", 4, 4),
        ("struct", "store", 7, 7),
        ("type", "point_t", 8, 8),
        ("type", "handler", 9, 9),
        ("enum", "kind", 10, 10),
        ("function", "save", 14, 20),
        ("function", "main", 21, 21),
    ]
    assert docs(found) == {"store": "A store.", "save": "Saves."}
    assert signatures(found)["save"] == "static struct item * save(struct store *s, int x)"
    assert imports(found) == [("stdio.h", "", ""), ("util/upper.h", "", "")]
    assert references(found) == {
        ("save", "raise_it"),
        ("save", "s.up.go"),
        ("save", "helper"),
        ("save", "TWICE"),
        ("main", "save"),
    }
    assert bindings(found) >= {("save", "s", "store()"), ("store", "self.up", "upper()")}


def test_cpp() -> None:
    found = read("a.cpp", CPP)
    assert [(type_, name) for type_, name, _start, _end in scopes(found)] == [
        ("namespace", "acme.inner"),
        ("class", "acme.inner.Store"),
        ("method", "acme.inner.Store.Store"),
        ("method", "acme.inner.Store.~Store"),
        ("method", "acme.inner.Store.save"),
        ("method", "acme.inner.Store.make"),
        ("method", "acme.inner.Store.up"),
        ("method", "acme.inner.Store.save#2"),
        ("function", "acme.inner.operator=="),
        ("enum", "acme.inner.Kind"),
    ]
    assert docs(found) == {"acme.inner.Store": "A store."}
    assert found.scopes[7].parent == 1
    assert references(found) >= {
        ("acme.inner.Store.save#2", "up_.raise"),
        ("acme.inner.Store.save#2", "this.helper"),
        ("acme.inner.Store.make", "Store"),
    }
    assert references(found, "inherits") == {("acme.inner.Store", "Base"), ("acme.inner.Store", "Saver")}
    assert ("acme.inner.Store", "self.up_", "Upper()") in bindings(found)


def test_a_header_of_cpp_is_read_as_cpp() -> None:
    assert read("a.h", "class A { public: int f(); };").language == "cpp"
    assert read("a.h", "int f(void);").language == "c"


def test_relations_through_includes() -> None:
    found = project(
        {
            "src/a.c": SOURCE,
            "src/util/upper.h": "struct upper { int x; };\n",
            "src/up.c": "void raise_it(struct upper *u, int x) { }\n",
        }
    )
    resolution = list(found.resolution().relations)
    assert {(each.kind, each.source_path, each.target_path or each.package) for each in resolution} >= {
        ("imports", "src/a.c", "src/util/upper.h"),
        ("imports", "src/a.c", "stdio.h"),
        ("calls", "src/a.c", "src/up.c"),
    }


def test_methods_defined_outside_their_class_are_found() -> None:
    found = relations(
        project(
            {
                "a.h": "class Store { public: void save(); };\n",
                "a.cc": '#include "a.h"\nvoid Store::save() { helper(); }\nvoid Store::helper() {}\n',
                "main.cc": '#include "a.h"\nint main() { Store s; s.save(); }\n',
            }
        ),
        "calls",
    )
    assert found.keys() == {("a.cc:Store.save", "a.cc:Store.helper"), ("main.cc:main", "a.h:Store.save")}
