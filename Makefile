# make quickstart   raw text to KLUE scores on the embedded sample (sets everything up when needed)
# make test         the tests
# make lint         style and types
# make install      only the virtual environment
# make drills       kills at random moments (long)

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
export HF_HUB_OFFLINE ?= 1
export TOKENIZERS_PARALLELISM ?= false

.PHONY: quickstart test lint install drills clean-venv

install: $(STAMP)

$(STAMP): setup.cfg pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	  { echo "error: $(PYTHON) is older than Python 3.10; name a newer one: make PYTHON=python3.11"; exit 2; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  { echo "error: $(PYTHON) has no venv module (on Debian: apt install python3-venv)"; exit 2; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $(STAMP)

quickstart: $(STAMP)
	@$(BIN)/hunmin sample --out runs/sample
	@$(BIN)/hunmin run configs/quickstart.yaml

test: $(STAMP)
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not drill"

drills: $(STAMP)
	$(BIN)/python -m pytest -m drill tests/drills

lint: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
