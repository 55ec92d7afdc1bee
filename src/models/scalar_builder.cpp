// Elementwise operations of maps.
#include "tile/mlir_pch.h"

#include "models/graph_builder.h"

#include <cmath>
#include <numbers>

using namespace mlir;

namespace sinter::models {

Value ScalarBuilder::number(float value) {
  return arith::ConstantOp::create(b_, loc_, b_.getF32FloatAttr(value));
}
Value ScalarBuilder::add(Value a, Value b) {
  return arith::AddFOp::create(b_, loc_, a, b);
}
Value ScalarBuilder::sub(Value a, Value b) {
  return arith::SubFOp::create(b_, loc_, a, b);
}
Value ScalarBuilder::mul(Value a, Value b) {
  return arith::MulFOp::create(b_, loc_, a, b);
}
Value ScalarBuilder::div(Value a, Value b) {
  return arith::DivFOp::create(b_, loc_, a, b);
}
Value ScalarBuilder::neg(Value a) {
  return arith::NegFOp::create(b_, loc_, a);
}
Value ScalarBuilder::exp(Value a) {
  return math::ExpOp::create(b_, loc_, a);
}
Value ScalarBuilder::log(Value a) {
  return math::LogOp::create(b_, loc_, a);
}
Value ScalarBuilder::floor(Value a) {
  return math::FloorOp::create(b_, loc_, a);
}
Value ScalarBuilder::tanh(Value a) {
  return math::TanhOp::create(b_, loc_, a);
}
Value ScalarBuilder::sqrt(Value a) {
  return math::SqrtOp::create(b_, loc_, a);
}
Value ScalarBuilder::least(Value a, Value b) {
  return arith::MinimumFOp::create(b_, loc_, a, b);
}
Value ScalarBuilder::most(Value a, Value b) {
  return arith::MaximumFOp::create(b_, loc_, a, b);
}
Value ScalarBuilder::fromInteger(Value a) {
  return arith::SIToFPOp::create(b_, loc_, b_.getF32Type(), a);
}

// log(1 + exp(a)), where exp never exceeds 1.
Value ScalarBuilder::within(Value a, float limit) {
  return limit == 0 ? a : most(least(a, number(limit)), number(-limit));
}

Value ScalarBuilder::softplus(Value a) {
  Value zero = number(0), positive = most(a, zero);
  Value power = exp(sub(least(a, zero), positive));
  return add(positive, log(add(number(1), power)));
}

Value ScalarBuilder::sigmoid(Value a) {
  Value one = number(1);
  return div(one, add(one, exp(neg(a))));
}

Value ScalarBuilder::silu(Value a) {
  Value one = number(1);
  Value power = exp(neg(a));
  return div(a, add(one, power));
}

Value ScalarBuilder::gelu(Value a) {
  const auto root = static_cast<float>(std::sqrt(2 / std::numbers::pi));
  Value cubic = mul(mul(a, a), mul(a, number(0.044715f * root)));
  Value inner = add(mul(a, number(root)), cubic);
  return mul(mul(a, number(0.5f)), add(number(1), tanh(inner)));
}

} // namespace sinter::models
