#pragma once
#include "base/duration.h"
