// The shared precompiled header of the tests.
#pragma once

#include "base/std_pch.h"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>
#include <set>
#include <sstream>
