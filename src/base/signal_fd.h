#pragma once
#include "base/signals.h"
