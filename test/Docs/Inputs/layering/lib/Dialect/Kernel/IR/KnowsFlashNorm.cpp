#include "flashnorm/Dialect/Kernel/IR/Kernel.h"
#include "flashnorm/Dialect/FlashNorm/IR/FlashNorm.h"
