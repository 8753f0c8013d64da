#include "flashnorm/Register.h"
