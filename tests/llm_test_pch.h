// The same for tests of layers that hold or use language models (src/host/host_pch.h says why).
#pragma once

#include "test_pch.h"

#include "llm/model.h"

#include <nlohmann/json.hpp>
