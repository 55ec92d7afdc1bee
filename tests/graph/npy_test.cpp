// .npy files read back as they were written, and bytes that are none are refused.
#include "graph/evaluate/npy.h"
#include "graph/evaluation.h"
#include "tile/mlir_pch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::graph {
namespace {

using testing::HasSubstr;

class Npy : public testing::Test {
protected:
  // A file of version 1 with this header and data.
  static std::vector<uint8_t> file(const std::string &header, const std::string &data) {
    std::string text = "\x93NUMPY";
    text += {1, 0, static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
    text += header + data;
    return {text.begin(), text.end()};
  }
  std::string refusal(std::vector<uint8_t> bytes) {
    auto tensor = decodeNpy(context_, bytes);
    return tensor ? "" : tensor.error().message;
  }
  mlir::MLIRContext context_;
};

TEST_F(Npy, TensorsReadBackAsTheyWereWritten) {
  const mlir::Type types[] = {mlir::Float32Type::get(&context_),
                              mlir::IntegerType::get(&context_, 32),
                              mlir::IntegerType::get(&context_, 1)};
  for (mlir::Type type : types)
    for (Shape shape : {Shape{}, Shape{3}, Shape{2, 0, 4}, Shape{2, 1}}) {
      Tensor written = tensor(type, shape);
      for (double &value : written.values)
        value = type.isInteger(1) ? static_cast<int>(value) % 2 : value - 1;
      const std::vector<uint8_t> bytes = encodeNpy(written, Precision::F64);
      EXPECT_EQ(bytes.size() % 64, written.count() *
                                       (type.isF32()         ? 8
                                        : type.isInteger(32) ? 4
                                                             : 1) %
                                       64);
      auto read = decodeNpy(context_, bytes);
      ASSERT_TRUE(read) << read.error().message;
      EXPECT_EQ(read->shape, shape);
      EXPECT_EQ(read->values, written.values);
    }
}

TEST_F(Npy, EveryCutOfAFileIsRefused) {
  const std::vector<uint8_t> whole =
      encodeNpy(tensor(mlir::Float32Type::get(&context_), {2, 3}), Precision::F32);
  for (size_t length = 0; length < whole.size(); ++length)
    EXPECT_NE(refusal({whole.begin(), whole.begin() + length}), "") << length;
}

TEST_F(Npy, HeadersThatMakeNoTensorAreRefused) {
  EXPECT_THAT(refusal(file("{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", "abcd")),
              HasSubstr("elements '>f4', expected"));
  EXPECT_THAT(refusal(file("{'descr': '<f4', 'fortran_order': True, 'shape': (1,), }", "abcd")),
              HasSubstr("in Fortran order"));
  EXPECT_THAT(refusal(file("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", "abcd")),
              HasSubstr("extent '-1'"));
  EXPECT_THAT(refusal(file("{'descr': '<f4', 'fortran_order': False, 'shape': "
                           "(4611686018427387904, 4611686018427387904), }",
                           "abcd")),
              HasSubstr("more than 2^64"));
  EXPECT_THAT(refusal(file("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", "abcd")),
              HasSubstr("holds 4 bytes of elements, expected 12"));
  EXPECT_THAT(refusal({'P', 'K', 3, 4}), HasSubstr("does not begin with its magic number"));
  EXPECT_THAT(refusal(file("{'descr': '<f4'}", "abcd")), HasSubstr("has a header without"));
}

} // namespace
} // namespace sinter::graph
