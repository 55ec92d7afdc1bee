// The same for tests of layers that include MLIR, with the dialects, which take a file a second to
// parse.
#pragma once

#include "tile/mlir_pch.h"

#include "test_pch.h"

#include "graph/graph.h"
#include "kernels/registry.h"
#include "sched/sched.h"
#include "targets/target.h"
