// The precompiled header of the layers that open models: most of their files include, in the end,
// all of the layers below. Parsing these headers took two thirds of such a file's compilation.
#pragma once

#include "base/std_pch.h"

#include "host/model_store.h"
#include "host/open_model.h"

#include <nlohmann/json.hpp>
