#include "Family.h"
#include "MmaSync.h"
#include "Wgmma.h"
