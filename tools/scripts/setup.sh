# Sourced by demo.sh and check.sh: from a bare Debian 12 to a finished build.

flashnorm_preset=release
flashnorm_jobs=$(nproc)

# Prints the packages that are not installed yet.
missing_packages() {
  local package
  for package in llvm-22-dev libmlir-22-dev mlir-22-tools llvm-22-tools \
                 clang-22 lld-22 cmake ninja-build libboost-context-dev \
                 python3; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null |
      grep -q 'install ok installed' || echo "$package"
  done
}

# Installs what is missing, as root or through sudo; otherwise says what to do.
install_packages() {
  if ! command -v dpkg-query >/dev/null; then
    echo "This is not Debian: taking LLVM 22 and CMake as they are." >&2
    return 0
  fi
  local missing as_root=()
  missing=$(missing_packages)
  [ -n "$missing" ] || return 0
  if [ "$(id -u)" != 0 ]; then
    if ! sudo -n true 2>/dev/null && ! { [ -t 0 ] && command -v sudo >/dev/null; }; then
      echo "These packages are missing, and neither root nor sudo is at hand." >&2
      echo "As root, run:" >&2
      echo "  apt-get update && apt-get install" $missing >&2
      return 1
    fi
    as_root=(sudo)
  fi
  # Not needed, but lit can stop a test that hangs only with psutil.
  missing="$missing python3-psutil"
  echo "Installing" $missing
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends $missing >/dev/null
}

# Configures and builds TARGETS (default: everything). A terminal sees ninja's
# progress; else the log is shown only when it fails.
build_flashnorm() {
  local log
  log=$(mktemp)
  echo "Building (preset $flashnorm_preset, $flashnorm_jobs jobs; from scratch" \
    "some 12 processor minutes) ..."
  configure_and_build() {
    cmake --preset "$flashnorm_preset" >"$log" 2>&1 || return 1
    local build=(cmake --build --preset "$flashnorm_preset" \
                 -j "$flashnorm_jobs" ${1:+--target "$@"})
    if [ -t 1 ]; then
      "${build[@]}"
    else
      "${build[@]}" >>"$log" 2>&1
    fi
  }
  if ! configure_and_build "$@"; then
    tail -n 60 "$log" >&2
    rm -f "$log"
    echo "The build failed." >&2
    return 1
  fi
  rm -f "$log"
}
