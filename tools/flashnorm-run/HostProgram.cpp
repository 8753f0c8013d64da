//===- HostProgram.cpp - Runs a module on the CPU -------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostProgram.h"
#include "flashnorm/Pipelines/Pipelines.h"
#include "flashnorm/Runtime/CRuntime.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include <cstdlib>
#include <cstring>

using namespace flashnorm;
using namespace flashnorm::run;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

/// In front of the name of each function of the program.
static constexpr StringRef namePrefix = "program.";

//===----------------------------------------------------------------------===//
// Signatures
//===----------------------------------------------------------------------===//

static std::optional<ValueInfo> getInfo(mlir::Type type) {
  auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type);
  if (!tensor)
    return std::nullopt;
  mlir::Type element = tensor.getElementType();
  const int64_t rank = tensor.getRank();
  if (element.isBF16())
    return ValueInfo{DataType::BF16, rank};
  if (element.isF16())
    return ValueInfo{DataType::F16, rank};
  if (element.isF32())
    return ValueInfo{DataType::F32, rank};
  if (element.isF64())
    return ValueInfo{DataType::F64, rank};
  return std::nullopt;
}

/// What a program can do about a type that cannot be passed, if it is easy.
static StringRef getWayOut(mlir::Type type, bool isResult) {
  auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type);
  auto element =
      mlir::dyn_cast<mlir::FloatType>(mlir::getElementTypeOrSelf(type));
  if (!tensor || !element || element.getWidth() >= 16)
    return "";
  return isResult ? "; return it as f32, after an arith.extf"
                  : "; take it as f32, in front of an arith.truncf";
}

Expected<Signature> run::getSignature(mlir::func::FuncOp function) {
  Signature signature;
  auto collect = [&](mlir::TypeRange types, StringRef what,
                     std::vector<ValueInfo> &infos) -> Error {
    for (auto [i, type] : llvm::enumerate(types)) {
      std::optional<ValueInfo> info = getInfo(type);
      if (!info) {
        std::string text;
        llvm::raw_string_ostream(text) << type;
        return createStringError(
            "@" + function.getName() + ": " + what + " " + Twine(i) +
            " has type " + text +
            "; only ranked tensors of bf16, f16, f32 and f64 can be run" +
            getWayOut(type, what == "result"));
      }
      infos.push_back(*info);
    }
    return Error::success();
  };
  if (Error error =
          collect(function.getArgumentTypes(), "argument", signature.arguments))
    return error;
  if (Error error =
          collect(function.getResultTypes(), "result", signature.results))
    return error;
  return signature;
}

//===----------------------------------------------------------------------===//
// Conversions that compiled code may call
//
// The compiler's own library has them from GCC 13 on only. A 16-bit float
// travels in the low half of a register for f32.
//===----------------------------------------------------------------------===//

static float returnBits(uint16_t bits) {
  return llvm::bit_cast<float>(uint32_t(bits));
}
static float truncateF32ToBF16(float value) {
  return returnBits(doubleToBF16(value));
}
static float truncateF64ToBF16(double value) {
  return returnBits(doubleToBF16(value));
}
static float truncateF32ToF16(float value) {
  return returnBits(doubleToF16(value));
}
static float truncateF64ToF16(double value) {
  return returnBits(doubleToF16(value));
}
static float extendF16ToF32(float value) {
  return f16ToFloat(static_cast<uint16_t>(llvm::bit_cast<uint32_t>(value)));
}

/// A memref of any rank, as LLVM lowering passes it.
struct UnrankedMemRef {
  int64_t rank;
  struct Descriptor {
    char *allocated, *aligned;
    int64_t offset;
    int64_t sizesAndStrides[1]; ///< rank sizes, then rank strides
  } * descriptor;
};

/// memref.copy of arrays that are not packed: the name that
/// finalize-memref-to-llvm calls.
static void copyMemRef(int64_t elementBytes, const UnrankedMemRef *source,
                       const UnrankedMemRef *target) {
  int64_t rank = source->rank;
  const int64_t *sizes = source->descriptor->sizesAndStrides;
  const int64_t *sourceStrides = sizes + rank;
  const int64_t *targetStrides = target->descriptor->sizesAndStrides + rank;
  int64_t count = 1;
  for (int64_t dim = 0; dim < rank; ++dim)
    count *= sizes[dim];
  const char *from =
      source->descriptor->aligned + source->descriptor->offset * elementBytes;
  char *to =
      target->descriptor->aligned + target->descriptor->offset * elementBytes;
  for (int64_t index = 0; index < count; ++index) {
    int64_t rest = index, sourceAt = 0, targetAt = 0;
    for (int64_t dim = rank; dim-- > 0;) {
      int64_t position = rest % sizes[dim];
      rest /= sizes[dim];
      sourceAt += position * sourceStrides[dim];
      targetAt += position * targetStrides[dim];
    }
    std::memcpy(to + targetAt * elementBytes, from + sourceAt * elementBytes,
                elementBytes);
  }
}

// Sizes that are dynamic in the program are whatever the command line says, so
// that operands may disagree. Checks in the compiled code print what is wrong
// and abort: the tool's own puts and abort make an error of that.
static std::string checkedCall, checkMessage;

static int collectMessage(const char *text) {
  checkMessage += text;
  return 0;
}

[[noreturn]] static void failCheck() {
  // Never back to the compiled code, which would go on.
  llvm::outs().flush();
  StringRef message = StringRef(checkMessage).trim();
  message.consume_front("ERROR: Runtime op verification failed");
  llvm::errs() << "flashnorm-run: error: sizes do not fit in " << checkedCall
               << ": " << message.trim() << '\n';
  std::exit(1);
}

/// `@f(bf16 [16, 64], ...)`: the sizes that the checks of a call depend on.
static std::string describeCall(StringRef function,
                                llvm::ArrayRef<Array> arguments) {
  std::string text = ("@" + function + "(").str();
  for (auto [i, argument] : llvm::enumerate(arguments))
    text += (i ? ", " : "") + stringify(argument.type).str() + " " +
            formatShape(argument.shape);
  return text + ")";
}

static llvm::orc::SymbolMap getSymbols(llvm::orc::MangleAndInterner mangle) {
  llvm::orc::SymbolMap symbols;
  auto add = [&](StringRef name, auto *function) {
    symbols[mangle(name)] = {llvm::orc::ExecutorAddr::fromPtr(function),
                             llvm::JITSymbolFlags::Exported};
  };
  add("flashnorm_launch", &flashnorm_launch);
  add("memrefCopy", &copyMemRef);
  add("puts", &collectMessage);
  add("abort", &failCheck);
  add("__truncsfbf2", &truncateF32ToBF16);
  add("__truncdfbf2", &truncateF64ToBF16);
  add("__truncsfhf2", &truncateF32ToF16);
  add("__truncdfhf2", &truncateF64ToF16);
  add("__extendhfsf2", &extendF16ToF32);
  return symbols;
}

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

static Expected<std::unique_ptr<llvm::TargetMachine>> createTargetMachine() {
  static const bool failed = llvm::InitializeNativeTarget() ||
                             llvm::InitializeNativeTargetAsmPrinter();
  if (failed)
    return createStringError("LLVM has no code generator for this machine");
  auto builder = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!builder)
    return builder.takeError();
  // x86's conversions to bf16 flush subnormals; the expansion does not.
  if (builder->getTargetTriple().isX86())
    builder->addFeatures({"-avx512bf16", "-avxneconvert"});
  return builder->createTargetMachine();
}

Expected<std::unique_ptr<HostProgram>>
HostProgram::create(mlir::ModuleOp module, llvm::ArrayRef<StringRef> functions,
                    const HostOptions &hostOptions) {
  std::unique_ptr<HostProgram> program(new HostProgram);
  for (StringRef name : functions) {
    auto function = module.lookupSymbol<mlir::func::FuncOp>(name);
    if (!function)
      return createStringError("function @" + name + " is gone");
    Expected<Signature> signature = getSignature(function);
    if (!signature)
      return signature.takeError();
    program->signatures[name] = std::move(*signature);
  }

  // A program's @exp or @free is not the C library's, which compiled code
  // calls.
  mlir::SymbolTable symbols(module);
  for (auto function : llvm::to_vector(module.getOps<mlir::func::FuncOp>())) {
    if (function.isDeclaration())
      return createStringError("function @" + function.getName() +
                               " has no body, so that it cannot be run");
    if (failed(
            symbols.rename(function, (namePrefix + function.getName()).str())))
      return createStringError("function @" + function.getName() +
                               " cannot be renamed");
  }

  // LLVM warns of argument attributes that it does not know.
  for (auto function : module.getOps<mlir::func::FuncOp>()) {
    function->setDiscardableAttrs(llvm::to_vector(llvm::make_filter_range(
        function->getDiscardableAttrs(), [](mlir::NamedAttribute attr) {
          return !attr.getName().getValue().starts_with("flashnorm.");
        })));
    for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i)
      for (mlir::NamedAttribute attr : llvm::to_vector(
               mlir::function_interface_impl::getArgAttrs(function, i)))
        if (attr.getName().getValue().starts_with("flashnorm."))
          function.removeArgAttr(i, attr.getName());
  }

  mlir::PassManager pm(module.getContext());
  if (failed(mlir::applyPassManagerCLOptions(pm)))
    return createStringError("invalid pass manager options");
  pm.addNestedPass<mlir::func::FuncOp>(
      mlir::createConvertElementwiseToLinalgPass());
  if (hostOptions.checkSizes)
    pm.addPass(mlir::createGenerateRuntimeVerificationPass());
  buildLowerToCPUPipeline(pm, {});
  if (failed(pm.run(module)))
    return createStringError("lowering to the CPU failed");

  auto machine = createTargetMachine();
  if (!machine)
    return machine.takeError();
  if (!hostOptions.optimize) {
    (*machine)->setOptLevel(llvm::CodeGenOptLevel::None);
    (*machine)->setFastISel(true);
  }
  program->optimize = mlir::makeOptimizingTransformer(
      hostOptions.optimize ? 3 : 0, 0, machine->get());
  mlir::ExecutionEngineOptions options;
  options.transformer = program->optimize;
  options.enableGDBNotificationListener = false;
  options.enablePerfNotificationListener = false;
  auto engine =
      mlir::ExecutionEngine::create(module, options, std::move(*machine));
  if (!engine)
    return engine.takeError();
  program->engine = std::move(*engine);
  program->engine->registerSymbols(getSymbols);
  return program;
}

HostProgram::~HostProgram() = default;

//===----------------------------------------------------------------------===//
// Calling
//===----------------------------------------------------------------------===//

static Array convert(const Array &array, DataType type) {
  if (array.type == type)
    return array;
  Array result(type, array.shape);
  for (int64_t i = 0, e = array.size(); i < e; ++i)
    result.set(i, array.get(i));
  return result;
}

/// A memref descriptor as words: allocated and aligned pointer, offset, sizes,
/// strides.
static std::vector<int64_t> makeDescriptor(Array &array) {
  const int64_t address = reinterpret_cast<int64_t>(array.data.data());
  std::vector<int64_t> words = {address, address, 0};
  llvm::append_range(words, array.shape);
  words.resize(3 + 2 * array.shape.size());
  int64_t stride = 1;
  for (size_t dim = array.shape.size(); dim-- > 0;) {
    words[3 + array.shape.size() + dim] = stride;
    stride *= array.shape[dim];
  }
  return words;
}

static Expected<Array> copyResult(llvm::ArrayRef<int64_t> words,
                                  const ValueInfo &info) {
  StridedView view;
  const int64_t elementSize = sizeInBytes(info.type);
  view.data = reinterpret_cast<char *>(words[1]) + words[2] * elementSize;
  view.sizes.assign(words.begin() + 3, words.begin() + 3 + info.rank);
  view.strides.assign(words.begin() + 3 + info.rank, words.end());
  if (!countElements(view.sizes))
    return createStringError("a result has an impossible shape, " +
                             formatShape(view.sizes));
  Array array(info.type, view.sizes);
  packView(view, elementSize, array.data.data());
  return array;
}

Expected<std::vector<Array>>
HostProgram::call(StringRef function, llvm::ArrayRef<Array> arguments) {
  auto it = signatures.find(function);
  if (it == signatures.end())
    return createStringError("function @" + function + " cannot be called");
  const Signature &signature = it->second;
  if (arguments.size() != signature.arguments.size())
    return createStringError("@" + function + " takes " +
                             Twine(signature.arguments.size()) +
                             " arguments, got " + Twine(arguments.size()));

  // Bufferized functions may write to their arguments.
  std::vector<Array> copies;
  std::vector<std::vector<int64_t>> descriptors;
  for (auto [argument, info] : llvm::zip(arguments, signature.arguments)) {
    if (static_cast<int64_t>(argument.shape.size()) != info.rank)
      return createStringError(
          "@" + function + ": argument " + Twine(copies.size()) + " has rank " +
          Twine(argument.shape.size()) + ", expected " + Twine(info.rank));
    copies.push_back(convert(argument, info.type));
  }
  for (Array &copy : copies)
    descriptors.push_back(makeDescriptor(copy));

  // The C wrapper takes a pointer to the results' descriptors, one after the
  // other, and a pointer to each argument's; packed arguments are pointers to
  // these pointers.
  int64_t resultWords = 0;
  for (const ValueInfo &info : signature.results)
    resultWords += 3 + 2 * info.rank;
  std::vector<int64_t> results(resultWords);
  std::vector<void *> pointers;
  if (!signature.results.empty())
    pointers.push_back(results.data());
  for (std::vector<int64_t> &descriptor : descriptors)
    pointers.push_back(descriptor.data());
  llvm::SmallVector<void *> packed;
  for (void *&pointer : pointers)
    packed.push_back(&pointer);
  checkedCall = describeCall(function, arguments);
  checkMessage.clear();
  if (Error error = engine->invokePacked(
          ("_mlir_ciface_" + namePrefix + function).str(), packed))
    return error;
  if (Error error = takeLaunchError())
    return error;

  std::vector<Array> arrays;
  llvm::SmallVector<int64_t> allocations;
  llvm::ArrayRef<int64_t> words = results;
  for (const ValueInfo &info : signature.results) {
    Expected<Array> array =
        copyResult(words.take_front(3 + 2 * info.rank), info);
    if (!array)
      return array.takeError();
    arrays.push_back(std::move(*array));
    allocations.push_back(words[0]);
    words = words.drop_front(3 + 2 * info.rank);
  }
  // Results are the caller's, but one buffer may come back twice, or be an
  // argument's.
  llvm::sort(allocations);
  allocations.erase(llvm::unique(allocations), allocations.end());
  for (int64_t allocation : allocations)
    if (llvm::none_of(copies, [&](Array &copy) {
          return reinterpret_cast<int64_t>(copy.data.data()) == allocation;
        }))
      std::free(reinterpret_cast<void *>(allocation));
  return arrays;
}
