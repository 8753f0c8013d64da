#include "flashnorm/Planning/Target.h"
