#include "flashnorm/Register.h"
#include "flashnorm/Conversion/Passes.h"
