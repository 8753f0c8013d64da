#!/usr/bin/env bash
# Builds FlashNorm and runs every test. Enough alone on a bare Debian 12.
# Ends with one line: N passed, N failed, N skipped. Arguments go to lit:
# `tools/check.sh --filter=raise-norms` runs some of the tests.
set -euo pipefail
if [ "${1:-}" = --help ]; then
  sed -n '2,/^set/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
  exit
fi
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tools/scripts/setup.sh

if ! install_packages || ! build_flashnorm all; then
  echo "0 passed, 1 failed, 0 skipped"
  exit 1
fi

tests=build/$flashnorm_preset/test
results=$tests/results.json
rm -f "$results"
limits=()
python3 -c 'import psutil' 2>/dev/null && limits=(--timeout 240)
# The summary decides; lit's own exit code says no more than it does.
lit=$(sed -n 's/^LLVM_EXTERNAL_LIT:[A-Z]*=//p' "build/$flashnorm_preset/CMakeCache.txt")
"$lit" -j "$flashnorm_jobs" --test-output=failed --print-result-after=failed \
  "${limits[@]}" --output "$results" "$@" "$tests" || true
python3 tools/scripts/summarize-lit.py "$results"
