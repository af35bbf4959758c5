#!/usr/bin/env bash
# PyTorch's own tests of streams, events, pinned memory and graphs, natively and under `overtake run`: the same pass
# list.
# They are not part of this repository: TORCH_TESTS names a folder with test_cuda.py (and other wanted files of
# PyTorch's folder `test`, such as test_cuda_primary_ctx.py) of the installed release.
# Usage: OVERTAKE_BIN=folder TORCH_TESTS=folder tests/gpu/torch_suite.sh [--limit-s N] [-k EXPRESSION]
set -euo pipefail
: "${TORCH_TESTS:?name the folder that holds the test_cuda.py of the PyTorch release that is installed}"
exec python3 "$(dirname "$0")/torch_suite.py" "$TORCH_TESTS" "$@"
