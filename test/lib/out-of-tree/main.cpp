// The smallest compiler that links FlashNorm: it reads a file, runs a pipeline
// that is given by name, and prints the result.
//
// Usage: mini-compiler FILE.mlir 'flashnorm-fuse{chip=sm_90a}'

#include "flashnorm/Register.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

int main(int argc, char **argv) {
  if (argc != 3) {
    llvm::errs() << "usage: mini-compiler FILE PIPELINE\n";
    return 2;
  }
  mlir::DialectRegistry registry;
  flashnorm::registerProgramDialects(registry);
  flashnorm::registerDialects(registry);
  flashnorm::registerPasses();

  mlir::MLIRContext context(registry);
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(argv[1], &context);
  mlir::PassManager pm(&context);
  if (!module || failed(mlir::parsePassPipeline(argv[2], pm)) ||
      failed(pm.run(*module)))
    return 1;
  module->print(llvm::outs());
  return 0;
}
