"""Go: receivers, embedded types, packages that are folders."""

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
    package store

    import (
        "fmt"
        . "math"
        up "example.com/mod/internal/upper"
    )

    // Limit is the most.
    const Limit = 3

    var (
        names = map[string]int{}
    )

    // Store keeps items.
    type Store struct {
        Base
        *log.Logger
        up    *up.Upper
        items []Item
    }

    type Saver interface {
        fmt.Stringer
        Save(x int) error
    }

    type ID string

    // New makes one.
    func New(a, b string) (*Store, error) {
        s := &Store{up: up.New()}
        s.Save(1)
        for _, it := range s.items {
            it.Touch()
        }
        return s, nil
    }

    // Save it.
    func (s *Store) Save(x int) error {
        v, err := s.up.Raise(x)
        func() { v.Do() }()
        fmt.Println(v, err)
        return nil
    }
"""


def test_definitions_and_their_comments() -> None:
    found = read("a.go", SOURCE)
    assert scopes(found) == [
        ("constant", "Limit", 10, 10),
        ("variable", "names", 13, 13),
        ("struct", "Store", 17, 22),
        ("interface", "Saver", 24, 27),
        ("method", "Saver.Save", 26, 26),
        ("type", "ID", 29, 29),
        ("function", "New", 32, 39),
        ("method", "Store.Save", 42, 47),
    ]
    assert docs(found) == {
        "Limit": "Limit is the most.",
        "Store": "Store keeps items.",
        "New": "New makes one.",
        "Store.Save": "Save it.",
    }
    assert signatures(found)["Store.Save"] == "func (s *Store) Save(x int) error"
    assert (found.package, found.error_lines) == ("store", [])
    assert found.scopes[7].parent == 2


def test_imports_calls_and_types() -> None:
    found = read("a.go", SOURCE)
    assert imports(found) == [("fmt", "", "fmt"), ("math", "*", ""), ("example.com/mod/internal/upper", "", "up")]
    assert references(found) == {
        ("New", "up.New"),
        ("New", "s.Save"),
        ("New", "it.Touch"),
        ("New", "Store"),
        ("Store.Save", "s.up.Raise"),
        ("Store.Save", "v.Do"),
        ("Store.Save", "fmt.Println"),
    }
    assert references(found, "inherits") == {("Store", "Base"), ("Store", "log.Logger"), ("Saver", "fmt.Stringer")}
    assert bindings(found) >= {
        ("Store", "self.up", "up.Upper()"),
        ("Store", "self.items[]", "Item()"),
        ("New", "()", "Store()"),
        ("Store.Save", "s", "Store()"),
    }


def test_relations_over_the_files_of_a_package_and_of_a_module() -> None:
    calls = relations(
        project(
            {
                "go.mod": "module example.com/mod\n",
                "store.go": SOURCE,
                "item.go": "package store\ntype Item struct{}\nfunc (i *Item) Touch() { helper() }\nfunc helper() {}\n",
                "internal/upper/upper.go": """
                    package upper
                    type Upper struct{}
                    func New() *Upper { return nil }
                    func (u *Upper) Raise(x int) {}
                """,
            }
        ),
        "calls",
    )
    assert calls == {
        ("store.go:New", "internal/upper/upper.go:New"): 1.0,
        ("store.go:New", "store.go:Store"): 1.0,
        ("store.go:New", "store.go:Store.Save"): 1.0,
        ("store.go:New", "item.go:Item.Touch"): 1.0,
        ("store.go:Store.Save", "internal/upper/upper.go:Upper.Raise"): 1.0,
        ("item.go:Item.Touch", "item.go:helper"): 1.0,
    }
