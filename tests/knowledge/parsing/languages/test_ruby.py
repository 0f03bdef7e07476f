"""Ruby: modules, mixins, instance variables."""

from __future__ import annotations

from tests.knowledge.parsing.parse_helpers import bindings, docs, imports, project, read, references, scopes, signatures

SOURCE = """
    require 'json'
    require_relative 'util/upper'

    # A store.
    module Acme
      class Store < Base
        include Saver
        LIMIT = 3
        # Make it.
        def initialize(up)
          @up = Upper.new
          @up.raise_it(1)
        end

        def self.build(x) = new(x)

        def save(x)
          z = Item.new(x)
          z.touch
          helper(x)
          self.other()
        end
      end
    end
"""


def test_definitions_calls_and_types() -> None:
    found = read("a.rb", SOURCE)
    assert scopes(found) == [
        ("module", "Acme", 5, 24),
        ("class", "Acme.Store", 6, 23),
        ("constant", "Acme.Store.LIMIT", 8, 8),
        ("method", "Acme.Store.initialize", 10, 13),
        ("method", "Acme.Store.build", 15, 15),
        ("method", "Acme.Store.save", 17, 22),
    ]
    assert docs(found) == {"Acme": "A store.", "Acme.Store.initialize": "Make it."}
    assert imports(found) == [("json", "", ""), ("./util/upper", "", "")]
    assert references(found) >= {
        ("Acme.Store.initialize", "Upper"),
        ("Acme.Store.save", "z.touch"),
        ("Acme.Store.save", "helper"),
    }
    assert references(found, "inherits") == {("Acme.Store", "Base"), ("Acme.Store", "Saver")}
    assert ("Acme.Store.initialize", "self.@up", "Upper()") in bindings(found)
    assert signatures(found)["Acme.Store.save"] == "def save(x)"


def test_relations_through_requires() -> None:
    resolver = project(
        {
            "lib/a.rb": SOURCE,
            "lib/util/upper.rb": "class Upper\n  def raise_it(x)\n  end\nend\n"
            "class Base\n  def helper(x)\n  end\nend\n",
        }
    )
    resolution = list(resolver.resolution().relations)
    assert ("lib/a.rb", "lib/util/upper.rb") in {
        (each.source_path, each.target_path) for each in resolution if each.kind == "imports"
    }
    names = {
        resolver.files[each.target_path].symbols[each.target_index].qualified
        for each in resolution
        if each.kind == "calls"
    }
    assert names >= {"Upper", "Base.helper"}
