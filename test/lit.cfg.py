import os
import shutil
import subprocess
import sys

import lit.formats
from lit.llvm import llvm_config

config.name = "FlashNorm"
config.test_format = lit.formats.ShTest(not llvm_config.use_lit_shell)
config.suffixes = [".mlir", ".test"]
# Inputs and models are read by tests; they are none themselves.
config.excludes = ["Inputs", "Models", "lib"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.flashnorm_obj_root, "test")

# Unused prefixes and forgotten variables are mistakes in a test.
config.environment["FILECHECK_OPTS"] = (
    "-enable-var-scope --allow-unused-prefixes=false --dump-input-filter=error"
)

config.substitutions.append(("%models", os.path.join(config.test_source_root, "Models")))
config.substitutions.append(("%flashnorm_src", config.flashnorm_src_root))
config.substitutions.append(("%flashnorm_obj", config.flashnorm_obj_root))
config.substitutions.append(("%flashnorm_lib", config.flashnorm_lib_dir))
config.substitutions.append(
    ("%test_planner", os.path.join(config.flashnorm_obj_root, "test", "lib", "test-planner"))
)
config.substitutions.append(
    ("%test_runtime", os.path.join(config.flashnorm_obj_root, "test", "lib", "test-runtime"))
)
config.substitutions.append(
    ("%launch_example", os.path.join(config.flashnorm_obj_root, "test", "lib", "launch-example"))
)
# Puts a CUDA driver without a device in front of a command.
config.substitutions.append(
    (
        "%with_fake_cuda",
        "env LD_LIBRARY_PATH="
        + os.path.join(config.flashnorm_obj_root, "test", "lib", "fake-cuda"),
    )
)
config.substitutions.append(("%cmake", config.cmake))
config.substitutions.append(("%cxx", config.cxx))
config.substitutions.append(("%python", sys.executable))
config.substitutions.append(
    ("%lint", os.path.join(config.flashnorm_src_root, "tools", "scripts", "lint"))
)
config.substitutions.append(("%ptxas", config.ptxas))

llvm_config.with_environment("PATH", config.llvm_tools_dir, append_path=True)
llvm_config.with_environment("PATH", config.flashnorm_tools_dir, append_path=True)
llvm_config.add_tool_substitutions(
    [
        "flashnorm-opt",
        "flashnorm-compile",
        "flashnorm-run",
        "flashnorm-emulate",
        "flashnorm-fuzz",
        "flashnorm-bench",
    ],
    [config.flashnorm_tools_dir],
)
llvm_config.add_tool_substitutions(
    ["FileCheck", "not", "count", "mlir-opt"], [config.llvm_tools_dir]
)

# Runs LLVM dialect on the CPU; @main takes and returns nothing.
mlir_runner = os.path.join(config.llvm_tools_dir, "mlir-runner")
runner_libs = [
    os.path.join(config.llvm_tools_dir, "..", "lib", "lib%s.so" % name)
    for name in ("mlir_runner_utils", "mlir_c_runner_utils")
]
if all(os.path.exists(path) for path in [mlir_runner] + runner_libs):
    config.available_features.add("mlir-runner")
config.substitutions.append(("%mlir_runner", "%s -e main -entry-point-result=void -shared-libs=%s" % (mlir_runner, ",".join(runner_libs))))

# A release build of LLVM does not count what passes count.
def counts_statistics():
    try:
        done = subprocess.run(
            [os.path.join(config.llvm_tools_dir, "mlir-opt"), "--cse", "--mlir-pass-statistics"],
            input=b"func.func private @f()", capture_output=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return b"num-cse" in done.stderr


config.substitutions.append(
    ("%{pass_statistics}", "COUNTED" if counts_statistics() else "UNCOUNTED"))

# A GPU test needs a device that answers, not just a driver library.
def has_cuda_device():
    smi = shutil.which("nvidia-smi")
    if not smi:
        return False
    try:
        done = subprocess.run([smi, "-L"], capture_output=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0 and b"GPU" in done.stdout


if has_cuda_device():
    config.available_features.add("cuda")
if config.ptxas and os.access(config.ptxas, os.X_OK):
    config.available_features.add("ptxas")
# Releases of clang-format differ; the sources follow Debian's.
def has_clang_format():
    try:
        done = subprocess.run(
            ["clang-format", "--version"], capture_output=True, timeout=30
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return b"version 14." in done.stdout


if has_clang_format():
    config.available_features.add("clang-format")

# The plugin needs MLIR's dylib, and a host without sanitizers.
if not config.sanitize and os.path.exists(
    os.path.join(config.flashnorm_lib_dir, "FlashNormPlugin.so")
):
    config.available_features.add("plugin")
if config.sanitize:
    config.available_features.add("sanitizer")
    # Our half of LLVM's containers and allocators marks memory, the half inside
    # the MLIR dylib does not: without marks they agree.
    config.environment["ASAN_OPTIONS"] = (
        "detect_container_overflow=0:allow_user_poisoning=0:detect_leaks=0"
    )
