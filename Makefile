# make quickstart   raw text to KLUE scores on the embedded sample (sets everything up when needed)
# make quickstart-instruct   instructions to a tuned decoder's scores on another embedded sample
# make quickstart-embed   raw text to tuned sentence embeddings' scores on the embedded sample
# make test         the fast tests: every room, one whole run in little (10 minutes on two cores); ROOM=data/pii: of one room
# make test-slow    the slow ones (20 minutes); make mutations: which test catches which fault (hours)
# make test-oldest  training's tests with the oldest torch and transformers that setup.cfg takes, in .venv-oldest (6 GB)
# make rules        writes tests/rules.lock, after a number in common/rules.py was raised or code changed and no output
# make lint         style and types
# make docs         docs/ as HTML in build/docs, and lists of long sentences; make docs-links: do the links answer?
# make install      only the virtual environment
# make install-tpu  TorchTPU beside it, for TPU hosts (0.8 GB); make test-tpu: what is asked of it, without a TPU
# make install-xla  TorchTPU and jax in .venv-xla, beside .venv (1.5 GB); make test-xla: TorchTPU's graphs by XLA on a CPU
# make test-triton  Triton in .venv-triton, beside .venv (0.6 GB); the kernels of a GPU by its interpreter
# make dist         dist/*.whl and dist/*.tar.gz: hunmin as one package, to install elsewhere than here
# make drills       kills at random moments, nodes, Slurm (long; some of it as root)
# make bench-decontaminate BENCHMARK=klue CORPUS=texts.jsonl.zst   benchmarks; each script's docstring says what it counts
# make bench-corpus BENCHMARK=klue CORPUS=corpora
# make check-decontamination BENCHMARK=klue CORPUS='corpora/*'   recall of planted copies, false alarms; oracle
# make bench-tokenizer CORPUS=runs/x/corpus
# make bench-pretrain RUN=runs/x
# make gpu [OUT=runs/gpu] [GPU_PYTHON=python3]                    on a GPU: the table of speeds, a run, its tests
# make gpu-run [RECIPE=configs/gpu-check.yaml]                   the run alone: killed, resumed and scored
# make bench-klue MODEL=runs/x/export DATA=klue

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DOCS := $(VENV)/.docs
export HF_HUB_OFFLINE ?= 1
export TOKENIZERS_PARALLELISM ?= false
# Python 3.10's own pip builds seqeval, which comes as source alone, without what its build needs
export PIP_USE_PEP517 ?= 1

.PHONY: quickstart quickstart-instruct quickstart-embed test test-slow test-oldest mutations rules lint docs docs-links dist install install-tpu test-tpu install-xla test-xla install-triton test-triton
.PHONY: drills gpu gpu-tests gpu-bench gpu-run
.PHONY: bench-decontaminate bench-corpus bench-tokenizer bench-pretrain bench-klue check-decontamination

install: $(STAMP)

$(STAMP): setup.cfg pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 10) <= sys.version_info < (3, 15))' || \
	  { echo "error: $(PYTHON) is $$($(PYTHON) -V), Hunmin needs Python 3.10 to 3.14; name one: make PYTHON=python3.13"; exit 2; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  { echo "error: $(PYTHON) has no venv module (on Debian: apt install python3-venv)"; exit 2; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $(STAMP)

install-tpu: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,tpu]'

test-tpu: $(STAMP)
	$(BIN)/python -m pytest -rs tests/pretrain/test_tpu.py tests/pretrain/test_torch_tpu.py

install-xla: $(STAMP)
	test -x .venv-xla/bin/python || $(BIN)/python -m venv .venv-xla
	$(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
	  > "$$(.venv-xla/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/hunmin.pth"
	.venv-xla/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt torch_tpu jax jaxlib

test-xla: $(STAMP)
	$$(test -x .venv-xla/bin/python && echo .venv-xla/bin/python || echo $(BIN)/python) -m pytest -rs -s tests/pretrain/test_xla.py

install-triton: $(STAMP)
	test -x .venv-triton/bin/python || $(BIN)/python -m venv .venv-triton
	$(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
	  > "$$(.venv-triton/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/hunmin.pth"
	.venv-triton/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -c constraints.txt triton

test-triton: install-triton
	.venv-triton/bin/python -m pytest -rs tests/pretrain/kernels/test_add_norm.py

quickstart: $(STAMP)
	@$(BIN)/hunmin sample --out runs/sample
	@$(BIN)/hunmin run configs/quickstart.yaml

quickstart-instruct: $(STAMP)
	@$(BIN)/hunmin sample --out runs/sample-instruct --instruct
	@$(BIN)/hunmin run configs/quickstart-instruct.yaml

quickstart-embed: $(STAMP)
	@$(BIN)/hunmin sample --out runs/sample
	@$(BIN)/hunmin run configs/quickstart-embed.yaml --until embed

dist: $(STAMP)
	$(BIN)/python -c 'import setuptools.build_meta as b; b.build_sdist("dist"); b.build_wheel("dist")'

test: $(STAMP)
	$(BIN)/python -m pytest -n 2 --dist loadfile --durations=20 -m "not slow and not drill" tests/$(ROOM)

test-slow: $(STAMP)
	$(BIN)/python -m pytest -n 2 --dist loadfile --durations=20 -m "slow and not drill" tests/$(ROOM)

mutations: $(STAMP)
	$(BIN)/python scripts/mutations.py

rules: $(STAMP)
	$(BIN)/python -m scripts.lock_rules

# what depends on versions most: the compiled step, and models as transformers writes them
OLDEST := .venv-oldest
oldest = $(shell sed -n 's/^ *$(1)>=//p' setup.cfg).0
$(OLDEST)/.installed: setup.cfg constraints.txt
	test -x $(OLDEST)/bin/python || $(PYTHON) -m venv $(OLDEST)
	sed -e 's/^torch==.*/torch==$(call oldest,torch)/' -e 's/^transformers==.*/transformers==$(call oldest,transformers)/' \
	  -e '/^tokenizers==/d; /^huggingface_hub==/d; /^datasets==/d' constraints.txt > $(OLDEST)/constraints.txt
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check -c $(OLDEST)/constraints.txt -e '.[dev]'
	touch $@

test-oldest: $(OLDEST)/.installed
	$(OLDEST)/bin/python -m pytest -n 2 --dist loadfile -m "not drill" tests/pretrain

drills: $(STAMP)
	$(BIN)/python -m pytest -m drill tests

bench-decontaminate: $(STAMP)
	$(BIN)/python scripts/bench_corpus.py --parts decontaminate --benchmark $(BENCHMARK) $(CORPUS)

bench-corpus: $(STAMP)
	$(BIN)/python scripts/bench_corpus.py --benchmark $(BENCHMARK) $(CORPUS)

check-decontamination: $(STAMP)
	$(BIN)/python scripts/check_decontamination.py oracle $(BENCHMARK) $(CORPUS)
	$(BIN)/python scripts/check_decontamination.py planted $(BENCHMARK) $(CORPUS)

bench-tokenizer: $(STAMP)
	$(BIN)/python scripts/bench_tokenizer.py --corpus $(CORPUS)

bench-pretrain: $(STAMP)
	$(BIN)/python scripts/bench_pretrain.py --tokens $(RUN)/tokens --tokenizer $(RUN)/tokenizer --base

# from the source tree, by a Python that has torch for CUDA (a machine without network: scripts/offline_wheels.py).
# What is measured comes first; each part ends within its seconds, also within a row, and the benchmark goes on where it
# stopped. A part that fails does not keep the others from what they measure.
OUT ?= runs/gpu
GPU_PYTHON ?= $(BIN)/python
BENCH_MINUTES ?= 8
gpu:
	@failed=; for part in gpu-bench gpu-run gpu-tests; do \
	  $(MAKE) --no-print-directory $$part || failed="$$failed $$part"; done; \
	  test -z "$$failed" || { echo "failed:$$failed"; exit 1; }

gpu-bench:
	PYTHONPATH=.:$$PYTHONPATH $(GPU_PYTHON) scripts/bench_gpu.py --out $(OUT) --minutes $(BENCH_MINUTES)

RECIPE ?= configs/gpu-check.yaml
UNTIL ?= klue
RUN_SECONDS ?= 480
gpu-run:
	test -d runs/sample || PYTHONPATH=.:$$PYTHONPATH $(GPU_PYTHON) -c 'from hunmin.main import main; main()' sample --out runs/sample
	PYTHONPATH=.:$$PYTHONPATH timeout $(RUN_SECONDS) $(GPU_PYTHON) scripts/kill_and_resume.py $(RECIPE) --until $(UNTIL) --out $(OUT)/gpu.json

TEST_SECONDS ?= 540
gpu-tests:
	HUNMIN_GPU_TESTS=1 PYTHONPATH=.:$$PYTHONPATH timeout $(TEST_SECONDS) $(GPU_PYTHON) -m pytest -q -n 4 -m gpu tests/pretrain/test_gpu.py

bench-klue: $(STAMP)
	$(BIN)/python scripts/bench_klue.py $(MODEL) --data $(DATA)

# Sphinx
$(DOCS): $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,docs]'
	touch $(DOCS)

docs: $(DOCS)
	@mkdir -p build
	$(BIN)/python -m scripts.recipe_reference > build/recipe.md
	$(BIN)/python -m scripts.recipe_reference --language ko > build/recipe.ko.md
	cp build/recipe.md build/recipe.ko.md docs
	$(BIN)/python -m sphinx -W -n --keep-going -q docs build/docs
	$(BIN)/python -m scripts.long_text

docs-links: $(DOCS)
	$(BIN)/python -m sphinx -b linkcheck -q docs build/links

lint: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
