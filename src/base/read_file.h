#pragma once
#include "base/descriptors.h"
