#include "flashnorm/Planning/Planner.h"
