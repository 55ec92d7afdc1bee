// The same for tests of layers that include MLIR.
#pragma once

#include "tile/mlir_pch.h"

#include "test_pch.h"
