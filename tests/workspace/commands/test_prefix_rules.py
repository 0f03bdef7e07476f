"""How much of a command a rule must spell out: nothing that the tables know, everything that they do not."""

# judges: app/atelier_desk/workspace/commands/parsing.py
from __future__ import annotations

import pytest

from atelier_desk.workspace.commands import indirect_execution
from atelier_desk.workspace.commands.parsing import read
from atelier_desk.workspace.commands.prefix_rules import spelled_out

ALL = -1
TABLE: dict[str, int] = {
    # Programs of the table
    "sort -r f": 0, "sort -o g f": ALL, "sort --compress-program=./x f": ALL, "sort --comp ./x f": ALL,
    "/usr/bin/sort -o g f": ALL, "./rg --pre ./x a": ALL, "rg -n a": 0, "sed -n 1p f": 0, "sed -i s/a/b/ f": ALL,
    "find . -name x": 0, "find . -delete": ALL, "rm -rf x": 0, "rm --no-preserve-root x": ALL, "grep -* x": ALL,
    "pytest -*": ALL, "bash x.sh": ALL, "sudo ls": ALL,
    # git
    "git log -1": 0, "git log --output=g": ALL, "git push -f origin main": 0, "git push --receive-pack=./x": 3,
    "git push --rec ./x o": 4, "git -c alias.x=!./x push": 3, "git --no-pager push": 0, "git rebase main": 0,
    "git rebase -x ./x main": 4, "git rebase -ix ./x": 4, "git rebase --continue": 0, "git commit -am 'FtF'": 0,
    "git commit -F ../x": 4, "git commit -aF ../x": 4, "git tag v1": 0, "git clone -u ./x . y": 4,
    "git fetch --upload-pack ./x .": 4, "git bisect run ./x": 3, "git stash show --ext-diff": 4,
    "git difftool -yx ./x": 4, "git grep -O./x a": 3, "git diff --no-index a b": ALL,
    # Other programs, each with its own option syntax
    "make": 0, "make all -j4 -k": 0, "make V=1": 0, "make SHELL=1": 2, "make X=y": 2, "make -f x": 3,
    "make -fx all": 2, "make -kf x": 3, "make -jf x": 0, "make --file=x": 2, "make --fil x all": 3, "gmake -C x": 3,
    "make -E 'x:;y'": 3, "make a -I b c": 4, "npm run test": 0, "npm run test -- -v --watch": 0,
    "npm run test --script-shell ./x": 5, "npm run test --script-s=./x": 4, "npm -C x test": 3,
    "npm run test -w x": 5, "pnpm --filter x test": 3, "yarn --cwd x test": 3, "bun -e x": 3,
    "pytest -xvs -k 'p and c' tests": 0, "pytest -pno:x": 2, "pytest -vc x": 3, "pytest --co": 0,
    "pytest --config-file=x": 2, "python x.py -c y": 0, "python3.12 -c x": 3, "python -W ignore -c x": 5,
    "python -m pytest -q": 3, "python -m pytest -q -p x": 6, "python -m unittest": 3, "python -mpytest -p x": 4,
    "python -Bm pytest -q": 3, "coverage run -m pytest -p x": 6, "python -mpytest -q": 2,
    "pytest @options": 2, "git config core.pager ./x": 2, "git --no-pager submodule update": 3, "vitest --typecheck": 0,
    "git cat-file --filters x": 4, "jest --global-setup=./x": 2, "jest --globals.x=1": 2, "ar @options": 2,
    "vitest --typecheck.checker=./x": 2, "make x*": ALL, "make docs/*": 0, "tar x* a": ALL,

    "poetry -C x run pytest -p y": 7, "coverage run -m pytest": 0, "py.test -p x": 3, "poetry run pytest -q": 0,
    "poetry run pytest -p x": 5, "bundle exec rake -f x": 5, "node x.js -r y": 0, "node -r ./y x.js": 3,
    "node --import=./y x.js": 2, "perl -ne x": 3, "perl -I lib -e x": 5, "ruby -r./x y": 2, "cargo test --release": 0,
    "cargo +nightly test": 3, "cargo test --config x": 4, "go test -race -count=1 ./...": 0, "go test -exec ./x": 4,
    "go build --toolexec=./x": 3, "go test -C x": 4, "mvn test -Dtest=A": 0, "mvn test -Dexec.executable=x": 3,
    "mvn -D exec.executable=x test": 3, "./gradlew test": 0, "./gradlew -I x test": 3, "gcc -O2 x.c": 0,
    "gcc -wrapper x x.c": 3, "gcc-13 -fplugin=x x.c": 2, "gcc @x": 2, "tsc": 0, "tsc -p x": 3, "jest --config=x": 2,
    "jest --coverage": 0, "eslint src": 0, "eslint -c x src": 3, "tar -xf IF.tar": 0, "tar xf a.tar": 0,
    "tar xIf ./x a.tar": 4, "tar -xIf ./x a.tar": 2, "tar -cf a.tar --checkpoint-action=exec=./x .": 4,
    "sqlite3 a.db .tables": 3, "sqlite3 a.db 'select 1'": 0, "java -jar x.jar": 0, "java -javaagent:x -jar y": 3,
    "unknown --anything -x": 0,
}  # fmt: skip


@pytest.mark.parametrize(("line", "count"), TABLE.items())
def test_the_table(line: str, count: int) -> None:
    [command] = read(line, "/home/ann").commands
    assert spelled_out(command) == (len(command.arguments) if count == ALL else count)


def test_every_row_names_its_source_and_its_options_are_found_in_each_syntax() -> None:
    for name, row in indirect_execution.ROWS.items():
        assert row.source.startswith(("https://", "man:")), name
        assert not set(row.letters) & set(row.values), name
        ways = [f"-{letter}" for letter in row.letters] + [f"-{letter}value" for letter in row.letters]
        ways += [f"--{long}" for long in row.long.split()] + [f"--{long}=value" for long in row.long.split()]
        for word in [*ways, *row.begins.split(), *row.words.split()]:
            assert indirect_execution.spelled_out((name, word, "value", "more")) in (2, 3), (name, word)
            assert indirect_execution.spelled_out((f"/usr/bin/{name}", word)) == 2, (name, word)
        assert indirect_execution.spelled_out((name, "--verbose")) == 0, name
