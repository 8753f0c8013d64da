#!/usr/bin/env bash
# Compiles a Llama-style decoder block to PTX for Blackwell, says what was fused
# and what was not, runs the fused block in the emulator and compares it with the
# original on the CPU.
# Enough alone on a bare Debian 12.
set -euo pipefail
if [ $# != 0 ]; then
  sed -n '2,/^set/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
  [ "$1" = --help ]
  exit
fi
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tools/scripts/setup.sh

install_packages
build_flashnorm flashnorm-compile flashnorm-run

bin=build/$flashnorm_preset/bin
model=test/Models/llama_block.mlir
out=out/demo

# Prints a command, then runs it.
show() {
  printf '\n$ %s\n' "$*"
  "$@"
}

show $bin/flashnorm-compile $model --chip=sm_100a -o $out
show ls $out
show $bin/flashnorm-run $model --entry=llama_block --device=emulator \
  --chip=sm_100a --compare=reference --seed=1 --rows=32
