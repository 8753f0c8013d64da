#!/usr/bin/env bash
# finds.sh MISTAKE SEED OP FOLDER [--reduce]: the fuzzer finds norms that are raised
# with MISTAKE, and writes the program that shows it, or a smaller one. That one has
# an OP, and the finding comes back with the mistake and only with it.
set -euo pipefail
mistake=$1 seed=$2 op=$3 folder=$4 reduce=${5:-}
fail() {
  echo "$mistake: $*"
  exit 1
}
rm -rf "$folder"
if flashnorm-fuzz --seed="$seed" --cases=200 --max-findings=1 \
    --wrong-raise="$mistake" --output="$folder" $reduce >"$folder.log"; then
  fail "is not found"
fi
index=$(sed -n 's/^finding: mismatch in execute, case \([0-9]*\):.*/\1/p' "$folder.log")
[ -n "$index" ] || fail "$(cat "$folder.log")"
program=$folder/mismatch-$seed-$index.mlir
if [ -n "$reduce" ]; then
  whole=$program program=${program%.mlir}-reduced.mlir
  [ "$(wc -l <"$program")" -lt "$(wc -l <"$whole")" ] || fail "is not reduced"
fi
flashnorm-opt --flashnorm-raise "$program" | grep "$op" >/dev/null || fail "has no $op"

read -ra again < <(sed -n 's/^\/\/ replay: //p' "$program")
if "${again[@]}" >"$folder.log"; then
  fail "is not found again in $(cat "$program")"
fi
"${again[@]/--wrong-raise*/--cases=1}" >"$folder.right.log" ||
  fail "$(cat "$folder.right.log")"
grep '^finding: mismatch' "$folder.log"
