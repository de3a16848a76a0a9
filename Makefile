# Two commands do everything: `make book` and `make test`. Each makes its own environment first.
#   make book [SCALE=smoke|quick|paper]   make test   make serve   make bench   make pairs   make clean

SCALE ?= quick
VENV ?= .venv
PYTHON ?= python3
PORT ?= 8000
PY := $(VENV)/bin/python
STAMP := $(VENV)/.reasonlib-env

export PYTHONUNBUFFERED := 1

.PHONY: pdf course slides edition term grade-image help book test test-all newest oldest serve bench env pairs outputs lock address screenshot format lint types unit slow notebooks notebooks-run site-tests clean
.DEFAULT_GOAL := help

help:
	@sed -n '1,2p' Makefile
	@echo "#   make lint | types | unit | notebooks | site-tests   the parts of make test"
	@echo "#   make test-all   also the slow tests, and every notebook in a kernel of its own   make newest | oldest   make unit with other versions of the packages; oldest needs Python 3.11"
	@echo "#   make pdf   the book as _build/html/book.pdf, printed by Chromium"
	@echo "#   make course [COURSE=folder]   the assignments as a course folder for nbgrader"
	@echo "#   make slides   slides of every chapter   make edition   the teacher's edition: solutions, syllabus, rubrics"
	@echo "#   make term TERM=2026-autumn   freeze the assignments of a term by a tag   make grade-image   a container that grades"
	@echo "#   make format | outputs | lock | screenshot | address URL=https://...   upkeep"

env: $(STAMP)

$(STAMP): pyproject.toml constraints.txt tools/env.py
	$(PYTHON) tools/env.py $(VENV)

book: $(STAMP)
	@$(PY) tools/book.py build --scale $(SCALE)

pdf: book
	@$(PY) tools/pdf.py

serve: $(STAMP)
	@$(PY) tools/book.py serve --port $(PORT)

# mypy and Sphinx keep one core busy each, so they run side by side.
SIDE_BY_SIDE := $(MAKE) --no-print-directory -j 2 types site-tests

test: lint unit notebooks
	@$(SIDE_BY_SIDE)

lint: $(STAMP)
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

types: $(STAMP)
	$(PY) -m mypy

UNIT := -m pytest tests --ignore=tests/site -n 2 --dist loadscope -q --durations 20 --cores

unit: $(STAMP)
	OMP_NUM_THREADS=1 $(PY) $(UNIT) -m "not slow"

slow: $(STAMP)
	OMP_NUM_THREADS=1 $(PY) $(UNIT) -m slow

test-all: lint unit slow notebooks notebooks-run
	@$(SIDE_BY_SIDE)

# Old packages use what newer ones they depend on deprecate; such warnings are errors in every other target.
oldest: WARNINGS := -W ignore::DeprecationWarning -W ignore::PendingDeprecationWarning

newest oldest:
	$(PYTHON) tools/env.py .venv-$@ $@
	OMP_NUM_THREADS=1 .venv-$@/bin/python $(UNIT) -m "not slow" $(WARNINGS)

notebooks: $(STAMP)
	$(PY) tools/notebooks.py check
	$(PY) tools/notebooks.py test

notebooks-run: $(STAMP)
	$(PY) tools/notebooks.py test --kernels

site-tests: $(STAMP)
	@$(PY) tools/book.py build --scale smoke --site _build/smoke
	REASONLIB_SITE=_build/smoke $(PY) -m pytest tests/site -n 2 -q --durations 20 --cores

bench: $(STAMP)
	@OMP_NUM_THREADS=1 $(PY) tools/bench.py

COURSE ?= _build/course

course: $(STAMP)
	$(PY) tools/course.py $(COURSE)

edition: $(STAMP)
	$(PY) tools/edition.py write

term: $(STAMP)
	$(PY) tools/term.py freeze $(TERM)

ENGINE ?= $(shell command -v podman || command -v docker)

grade-image:
	@test -n "$(ENGINE)" || { echo "neither podman nor docker is installed"; exit 2; }
	$(ENGINE) build --tag reasonlib-grade --file teaching/Containerfile .

slides: $(STAMP)
	$(PY) tools/slides.py --scale $(SCALE)

pairs: $(STAMP)
	$(PY) tools/notebooks.py write

outputs: $(STAMP)
	$(PY) tools/notebooks.py write --outputs

lock: $(STAMP)
	$(PY) tools/lock.py

address: $(STAMP)
	$(PY) tools/address.py $(if $(URL),set $(URL),check)
	$(if $(URL),$(PY) tools/notebooks.py write)

screenshot: $(STAMP)
	$(PY) tools/screenshot.py

format: $(STAMP)
	$(PY) tools/notebooks.py format
	$(PY) tools/notebooks.py write
	$(PY) -m ruff check --fix-only .
	$(PY) -m ruff format .

clean:
	rm -rf _build dist build .pytest_cache .mypy_cache .ruff_cache
