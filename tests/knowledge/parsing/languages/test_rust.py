"""Rust: impl blocks, use trees, modules in files."""

from __future__ import annotations

from tests.knowledge.parsing.parse_helpers import bindings, docs, imports, project, read, references, relations, scopes

SOURCE = """
    //! Crate.
    use crate::{util::{self, Helper as H}, model::*};
    use std::fmt;
    mod util;

    /// A store.
    #[derive(Debug)]
    pub struct Store<T> { items: Vec<Item>, helper: Option<Box<H>> }

    pub trait Save: fmt::Debug { fn save(&self) -> bool; fn twice(&self) { self.save(); } }

    impl<T> Store<T> {
        /// New one.
        pub fn new(h: H) -> Self { let x = Item::new(); x.touch(); Store { items: vec![x], helper: None } }
        fn run(&mut self) -> Result<Item, E> { for i in &self.items { i.touch(); } helper_fn(); util::go();
            println!("{}", 1); self.save() }
    }
    impl<T> Save for Store<T> { fn save(&self) -> bool { true } }
    mod tests { use super::*; fn t() { Store::new(H); } }
    const MAX: usize = 3;
    macro_rules! mine { () => {} }
    enum Kind { A, B }
"""


def test_definitions_belong_to_the_type_of_their_impl() -> None:
    found = read("a.rs", SOURCE)
    assert [(type_, name) for type_, name, _start, _end in scopes(found)] == [
        ("struct", "Store"),
        ("trait", "Save"),
        ("method", "Save.save"),
        ("method", "Save.twice"),
        ("impl", "impl Store"),
        ("method", "Store.new"),
        ("method", "Store.run"),
        ("impl", "impl Save for Store"),
        ("method", "Store.save"),
        ("module", "tests"),
        ("function", "tests.t"),
        ("constant", "MAX"),
        ("macro", "mine"),
        ("enum", "Kind"),
    ]
    assert docs(found) == {"Store": "A store.", "Store.new": "New one."}
    assert found.error_lines == []


def test_use_trees_calls_and_traits() -> None:
    found = read("a.rs", SOURCE)
    assert imports(found) == [
        ("self::util", "", "util"),
        ("crate", "util", "util"),
        ("crate::util", "Helper", "H"),
        ("crate::model", "*", ""),
        ("std", "fmt", "fmt"),
        ("super", "*", ""),
    ]
    assert references(found) >= {
        ("Store.new", "Item.new"),
        ("Store.run", "i.touch"),
        ("Store.run", "util.go"),
        ("tests.t", "Store.new"),
    }
    assert references(found, "inherits") == {("Save", "fmt.Debug"), ("Store", "Save")}
    assert bindings(found) >= {
        ("Store", "self.items[]", "Item()"),
        ("Store", "self.helper", "H()"),
        ("Store.run", "()", "Item()"),
    }


def test_relations_over_modules_and_crates() -> None:
    found = relations(
        project(
            {
                "Cargo.toml": '[package]\nname = "root"\n',
                "src/lib.rs": SOURCE,
                "src/util.rs": "pub struct Helper;\npub fn go() { super::helper_fn(); deep::far(); }\nmod deep;\n",
                "src/util/deep.rs": "pub fn far() { crate::util::go() }\n",
                "src/model.rs": "pub struct Item;\n"
                "impl Item { pub fn new() -> Self { Item } pub fn touch(&self) {} }\n",
                "crates/other-one/Cargo.toml": '[package]\nname = "other-one"\n',
                "crates/other-one/src/lib.rs": "use root::util;\nfn outer() { util::go(); root::MAX; }\n",
            }
        ),
        "calls",
    )
    assert found.keys() >= {
        ("src/lib.rs:Store.new", "src/model.rs:Item.new"),
        ("src/lib.rs:Store.new", "src/model.rs:Item.touch"),
        ("src/lib.rs:Store.run", "src/util.rs:go"),
        ("src/lib.rs:Store.run", "src/lib.rs:Store.save"),
        ("src/lib.rs:tests.t", "src/lib.rs:Store.new"),
        ("src/util.rs:go", "src/util/deep.rs:far"),
        ("src/util/deep.rs:far", "src/util.rs:go"),
        ("crates/other-one/src/lib.rs:outer", "src/util.rs:go"),
    }
    assert set(found.values()) == {1.0}
