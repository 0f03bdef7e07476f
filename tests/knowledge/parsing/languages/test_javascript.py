"""JavaScript and TypeScript: modules of both kinds, classes, functions assigned to variables."""

from __future__ import annotations

from tests.knowledge.parsing.parse_helpers import bindings, docs, imports, project, read, references, scopes, signatures

TYPESCRIPT = """
    import fs, { type A, B as C } from './b';
    import * as all from '../all';
    export * from './c';
    export { d as e } from './d';
    import './side';
    const { x, y: z } = require('pkg');

    /** A store. */
    @dec()
    export abstract class Store<T> extends Base<T> implements Saver, ns.Other {
      private up: Upper = new Upper();
      constructor(private readonly helper: Helper, n?: number) { super(); }
      /** Saves. */
      async save(x: number): Promise<Item> { this.up.raise(x); const i = new Item(); i.touch(); return i; }
      arrow = () => { this.save(1); };
      abstract go(): void;
    }
    interface Saver extends Base { save(x: number): void; helper: Helper }
    type ID = string;
    enum Kind { A }
    namespace N { export function inside() {} }
    export const make = async (x: Store<number>) => x.save(1);
    export default function main() { make(1)?.then(); all.go(); }
"""


def test_typescript_definitions() -> None:
    found = read("a.ts", TYPESCRIPT)
    assert scopes(found) == [
        ("class", "Store", 10, 17),
        ("method", "Store.constructor", 12, 12),
        ("method", "Store.save", 14, 14),
        ("method", "Store.arrow", 15, 15),
        ("method", "Store.go", 16, 16),
        ("interface", "Saver", 18, 18),
        ("method", "Saver.save", 18, 18),
        ("type", "ID", 19, 19),
        ("enum", "Kind", 20, 20),
        ("namespace", "N", 21, 21),
        ("function", "N.inside", 21, 21),
        ("function", "make", 22, 22),
        ("function", "main", 23, 23),
    ]
    assert docs(found) == {"Store": "A store.", "Store.save": "Saves."}
    assert signatures(found)["make"] == "make = async (x: Store<number>) =>"
    assert found.error_lines == []


def test_typescript_imports_and_reexports() -> None:
    assert set(imports(read("a.ts", TYPESCRIPT))) == {
        ("./b", "default", "fs"),
        ("./b", "A", "A"),
        ("./b", "B", "C"),
        ("../all", "", "all"),
        ("./c", "*", ""),
        ("./d", "d", "e"),
        ("./side", "", ""),
        ("pkg", "x", "x"),
        ("pkg", "y", "z"),
    }


def test_typescript_calls_bases_and_types() -> None:
    found = read("a.ts", TYPESCRIPT)
    assert references(found) >= {
        ("Store.save", "this.up.raise"),
        ("Store.save", "Item"),
        ("make", "x.save"),
        ("main", "make().then"),
        ("main", "all.go"),
    }
    assert references(found, "inherits") == {
        ("Store", "Base"),
        ("Store", "Saver"),
        ("Store", "ns.Other"),
        ("Saver", "Base"),
    }
    assert bindings(found) >= {
        ("Store", "self.up", "Upper()"),
        ("Store.constructor", "self.helper", "Helper()"),
        ("Store.save", "()", "Item()"),
        ("", "default", "main"),
    }


def test_assigned_functions_belong_to_their_target() -> None:
    source = """
        var app = exports = module.exports = {};
        /** Uses it. */
        app.use = function use(fn) { this.lazy(); };
        app.lazy = function () {};
        Store.prototype.save = function (x) { return x; };
        exports.json = (x) => x;
        const handlers = { get: function () {}, set(value) {} };
    """
    found = read("a.js", source)
    assert scopes(found) == [
        ("constant", "app", 1, 1),
        ("method", "app.use", 3, 3),
        ("method", "app.lazy", 4, 4),
        ("method", "Store.save", 5, 5),
        ("function", "json", 6, 6),
        ("constant", "handlers", 7, 7),
        ("function", "handlers.get", 7, 7),
        ("function", "handlers.set", 7, 7),
    ]
    assert docs(found) == {"app.use": "Uses it."}


def test_relations_through_modules_of_both_kinds() -> None:
    resolver = project(
        {
            "index.js": "module.exports = require('./lib/express');\n",
            "lib/express.js": """
                var Thing = require('./thing');
                exports = module.exports = make;
                function make() { return new Thing().go(); }
            """,
            "lib/thing.js": "class Thing { go() { this.stop(); } stop() {} }\nmodule.exports = Thing;\n",
            "test/one.js": "const express = require('../');\nexpress();\nconst { a } = require('lodash');\na();\n",
            "src/store/index.ts": "import { Item } from './item.js';\n"
            "export class Store { make(): Item { return new Item(); } }\n",
            "src/store/item.ts": "export class Item { touch() {} }\n",
            "src/app.tsx": "import { Store } from './store';\nconst store = new Store();\nstore.make().touch();\n",
        }
    )
    resolution = list(resolver.resolution().relations)
    calls = {(each.source_path, each.target_path, each.confidence) for each in resolution if each.kind == "calls"}
    assert calls == {
        ("lib/express.js", "lib/thing.js", 1.0),
        ("lib/thing.js", "lib/thing.js", 1.0),
        ("test/one.js", "lib/express.js", 1.0),
        ("src/store/index.ts", "src/store/item.ts", 1.0),
        ("src/app.tsx", "src/store/index.ts", 1.0),
        ("src/app.tsx", "src/store/item.ts", 1.0),
    }
    assert {each.package for each in resolution if each.package} == {"lodash"}


def test_only_a_doc_comment_may_be_followed_by_a_blank_line() -> None:
    found = read(
        "a.js",
        """
        /**
         * Set the status.
         */

        res.status = function status(code) { return code; };

        // Section.

        function plain() {}

        /** Far away. */


        function far() {}

        const a = 1; /** Beside. */

        function beside() {}
        """,
    )
    assert {name: said for name, said in docs(found).items() if said and name != "a"} == {
        "res.status": "Set the status."
    }
