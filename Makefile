PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo docs wheel test oldest soak check bench lock clean

demo: $(VENV)/installed
	$(BIN)/dalembert run trebuchet --view

# The site, in out/site: it needs no network, neither to be built (after the first installation) nor to be read.
docs: $(VENV)/documented
	$(BIN)/python -m sphinx -q -E -W --keep-going -b html -d out/doctrees docs out/site
	@echo "the site is in out/site/index.html"

# A wheel in dist/ with the compiled kernels in it, for this kind of machine.
wheel: $(VENV)/installed
	$(BIN)/python -m dalembert.cli.build_library out/library
	$(BIN)/uv build --quiet --wheel --out-dir dist

# Checks run beside the wheel, as most of them use one core; kernels are compiled before the tests, on all cores; tests in a
# browser run alone, as what a person does there is timed.
test: $(VENV)/tested
	$(MAKE) --jobs=2 check wheel
	$(BIN)/dalembert compile
	$(BIN)/python -m pytest -n 2 --dist loadfile --ignore=tests/view
	$(BIN)/python -m pytest tests/view

# The oldest Numba that is allowed (the newest is in requirements.lock), as parts of Numba are used that are not documented.
oldest: $(VENV)-oldest/installed
	$(VENV)-oldest/bin/python -m pytest tests/jit/test_numba.py tests/jit/test_kernel.py tests/simulation/test_known_motions.py

# Every case of the tests, of which `make test` samples the slow ones; thousands of random scenes, and every scene of the gallery
# for 100 000 steps: two hours or more.
soak: $(VENV)/tested
	$(BIN)/dalembert compile
	$(BIN)/python -m pytest -n 2 --dist loadfile --ignore=tests/view --every-case
	$(BIN)/python tests/soak.py
	$(BIN)/python -m tests.contact.shots

# Ruff without its cache: how imports are sorted depends on which files there are, and the cache keeps old answers.
check: $(VENV)/tested
	$(BIN)/ruff check --no-cache src tests benchmarks docs
	$(BIN)/ruff format --no-cache --check src tests benchmarks docs/_ext docs/conf.py
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/benched
	$(BIN)/python benchmarks/run.py
	$(BIN)/python benchmarks/accuracy.py
	$(BIN)/python benchmarks/walls.py
	$(BIN)/python benchmarks/pour.py
	$(BIN)/python benchmarks/particles.py
	$(BIN)/python benchmarks/cloth.py
	$(BIN)/python benchmarks/interactions.py
	$(BIN)/python benchmarks/joint_coordinates.py
	$(BIN)/python benchmarks/batch.py --all
	$(BIN)/python benchmarks/quadruped.py
	$(BIN)/python benchmarks/robots.py
	$(BIN)/python benchmarks/solvers.py
	$(BIN)/python benchmarks/start.py --demo

# The uv of this machine, if it has one: making an environment with pip takes longer than filling it.
$(VENV)/uv:
	if command -v uv > /dev/null; then uv venv --quiet --allow-existing --python $(PYTHON) $(VENV) && ln -sf "$$(command -v uv)" $(BIN)/uv; \
	else $(PYTHON) -m venv $(VENV) && $(BIN)/pip install --quiet --disable-pip-version-check uv; fi
	touch $@

# Without bytecode, which Python writes when a file is first imported: the demo imports a tenth of what is installed.
$(VENV)/installed: $(VENV)/uv requirements.lock pyproject.toml
	$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --editable .
	touch $@

$(VENV)/tested: $(VENV)/installed requirements-test.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --compile-bytecode --require-hashes -r requirements-test.lock
	touch $@

$(VENV)-oldest/installed: $(VENV)/uv requirements-oldest.lock
	$(BIN)/uv venv --quiet --allow-existing --python $(BIN)/python $(VENV)-oldest
	$(BIN)/uv pip install --quiet --python $(VENV)-oldest/bin/python --require-hashes -r requirements-oldest.lock
	$(BIN)/uv pip install --quiet --python $(VENV)-oldest/bin/python --no-deps --editable .
	touch $@

$(VENV)/documented: $(VENV)/installed requirements-docs.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --compile-bytecode --require-hashes -r requirements-docs.lock
	touch $@

$(VENV)/benched: $(VENV)/tested
	for peer in mujoco pybullet drake rapier3d pin example-robot-data; do $(BIN)/uv pip install --quiet --python $(BIN)/python $$peer || echo "benchmark: $$peer could not be installed"; done
	$(BIN)/uv venv --quiet --allow-existing --python 3.13 $(VENV)-jolt && $(BIN)/uv pip install --quiet --python $(VENV)-jolt/bin/python culverin || echo "benchmark: Jolt could not be installed"
	$(BIN)/uv venv --quiet --allow-existing --python $(BIN)/python $(VENV)-start
	for peer in mujoco mujoco-mjx drake "newton[sim]"; do $(BIN)/uv pip install --quiet --compile-bytecode --python $(VENV)-start/bin/python $$peer || echo "benchmark: $$peer could not be installed"; done
	$(BIN)/uv venv --quiet --allow-existing --python $(BIN)/python $(VENV)-genesis && $(BIN)/uv pip install --quiet --compile-bytecode --python $(VENV)-genesis/bin/python genesis-world torch || echo "benchmark: Genesis could not be installed"
	touch $@

lock:
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header pyproject.toml -o requirements.lock
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --extra docs -c requirements.lock pyproject.toml -o requirements-docs.lock
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --extra test -c requirements-docs.lock -c requirements.lock pyproject.toml -o requirements-test.lock
	printf "pytest\nnumba<0.63; python_version < '3.14'\n" | $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header pyproject.toml - -o requirements-oldest.lock

clean:
	rm -rf $(VENV) $(VENV)-oldest $(VENV)-jolt $(VENV)-start $(VENV)-genesis out
