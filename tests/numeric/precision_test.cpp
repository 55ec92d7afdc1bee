// Names of what a plan may round.
#include "numeric/precision.h"

#include <gtest/gtest.h>

namespace sinter {
namespace {

TEST(Precision, ActivationsAreFoundByTheNamesThatAreListed) {
  EXPECT_EQ(activationsNames(), "fastest, f32");
  EXPECT_EQ(findActivations("fastest"), Activations::Fastest);
  EXPECT_EQ(findActivations("f32"), Activations::F32);
  for (const char *name : {"", "F32", "f3", "fastest "})
    EXPECT_EQ(findActivations(name), std::nullopt) << name;
}

TEST(Precision, WhatWasNotAskedForIsTheDefault) {
  EXPECT_EQ(Precision().kvTypeOrDefault(), "auto");
  EXPECT_EQ(Precision().activationsOrDefault(), "fastest");
  EXPECT_EQ((Precision{"q8_0", "f32"}).kvTypeOrDefault(), "q8_0");
  EXPECT_EQ((Precision{"q8_0", "f32"}).activationsOrDefault(), "f32");
}

} // namespace
} // namespace sinter
