"""PHP: namespaces, traits, promoted properties."""

from __future__ import annotations

from tests.knowledge.parsing.parse_helpers import bindings, docs, imports, project, read, references, relations, scopes

SOURCE = """
    <?php
    namespace Acme\\Store;

    use Acme\\Model\\{Item, Other as O};
    use Acme\\Base;
    use function Acme\\help;
    require_once __DIR__ . '/util.php';

    const MAX = 3;

    /** A store. */
    class Store extends Base implements Saver
    {
        use Loud;
        private Upper $upper;

        public function __construct(private Upper $u, ?Item $i) { $this->upper = new Upper(); parent::__construct(); }

        /** Save. */
        public function save(int $x): ?Item
        {
            help();
            $z = new Item();
            $z->touch();
            $this->upper->raise($x);
            self::build();
            return Item::make();
        }
    }
    interface Saver {}
    trait Loud {}
    enum Kind {}
    function free(Item $i): void { $i->touch(); }
"""


def test_definitions_calls_and_types() -> None:
    found = read("a.php", SOURCE)
    assert [(type_, name) for type_, name, _start, _end in scopes(found)] == [
        ("constant", "MAX"),
        ("class", "Store"),
        ("method", "Store.__construct"),
        ("method", "Store.save"),
        ("interface", "Saver"),
        ("trait", "Loud"),
        ("enum", "Kind"),
        ("function", "free"),
    ]
    assert docs(found) == {"Store": "A store.", "Store.save": "Save."}
    assert (found.package, found.error_lines) == ("Acme.Store", [])
    assert imports(found) == [
        ("Acme.Model", "Item", "Item"),
        ("Acme.Model", "Other", "O"),
        ("Acme", "Base", "Base"),
        ("Acme", "help", "help"),
        ("util.php", "", ""),
    ]
    assert references(found) >= {
        ("Store.save", "$this.upper.raise"),
        ("Store.save", "$z.touch"),
        ("Store.save", "Item.make"),
        ("free", "$i.touch"),
    }
    assert references(found, "inherits") == {("Store", "Base"), ("Store", "Saver"), ("Store", "Loud")}
    assert bindings(found) >= {
        ("Store.__construct", "self.u", "Upper()"),
        ("Store", "self.upper", "Upper()"),
        ("free", "$i", "Item()"),
    }


def test_relations_through_namespaces() -> None:
    found = relations(
        project(
            {
                "src/a.php": SOURCE,
                "src/Item.php": (
                    "<?php\nnamespace Acme\\Model;\nclass Item { function touch() {} static function make() {} }\n"
                ),
                "src/Upper.php": "<?php\nnamespace Acme\\Store;\nclass Upper { function raise($x) {} }\n",
            }
        ),
        "calls",
    )
    assert found.keys() >= {
        ("src/a.php:Store.save", "src/Item.php:Item.touch"),
        ("src/a.php:Store.save", "src/Item.php:Item.make"),
        ("src/a.php:Store.save", "src/Upper.php:Upper.raise"),
        ("src/a.php:free", "src/Item.php:Item.touch"),
    }
