#!/usr/bin/env bash
# Unmodified programs, natively and under `overtake run`: same results, no hang, and the ways of their copies.
# Usage: OVERTAKE_BIN=folder benches/gpu/clients.sh [--only NAME]... [--jobs N] [--limit-s N]
#        [--deployment preload|shadow|audit]
set -euo pipefail
exec python3 "$(dirname "$0")/run_clients.py" "$@"
