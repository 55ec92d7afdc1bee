// Kernels of mixture of experts: choices of the largest, rows side by side by expert, their
// weighted sums. A row's bits depend on nothing but the row.
#pragma once

#include "kernels/fields.h"
#include "kernels/slots.h"

namespace sinter::kernels {

enum class RouterScores { Softmax, Sigmoid, ChosenSoftmax };

// Experts of each token and their weights, as graph.route says. Arguments: logits f32 [T,
// experts], with `biased` bias f32 [1, experts], weights f32 [T, choices], chosen i32 [T, choices],
// scale f32. Grid x walks T.
struct Route {
  RouterScores scores = RouterScores::Softmax;
  int64_t experts = 64, choices = 8;
  int64_t groups = 1, usedGroups = 1, sharing = 1;
  bool biased = false, byLogits = false, normalized = false;
};

// Choices that one program of CountRows and PlaceRows takes.
inline constexpr int64_t kChoicesOfProgram = 128;

// How often choices name each expert. Arguments: chosen i32 [A, 1], counts i32 [programs, 2,
// experts]: of each program's choices those of this expert, and of all experts below it. Grid x
// walks A by kChoicesOfProgram.
struct CountRows {
  int64_t experts = 64;
};

// The row of each choice, by expert and then by number, and the groups of rows: expert, first row,
// rows of each expert that has some, then zeros. A choice of no expert has row -1. Arguments:
// chosen i32 [A, 1] and the same as chosen_row [1, A], counts as of CountRows, places i32 [A, 1],
// groups i32 [experts, 3]. Grid x walks A by kChoicesOfProgram.
struct PlaceRows {
  int64_t experts = 64;
};

// out[places[a]] = rows[a / choices]. Arguments: rows [T, N], places i32 [T * choices], out [T *
// choices, 1, N]. Grid x walks N, y walks choices.
struct SpreadRows {
  kernel::Element element = kernel::F32;
  int64_t choices = 8, blockColumns = 512;
};

// Sums of each token's rows times weights, in the order of its choices. Arguments: rows f32 [R, N],
// places i32 [T, choices], weights f32 [T, choices], out [T, N]. Grid x walks N, y walks T.
// `epilogue` maps the f32 sums.
struct CombineRows {
  kernel::Element out = kernel::F32;
  int64_t columns = kernel::dyn; // N where it is static
  int64_t choices = 8, blockColumns = 256;
  Slot epilogue;
};

void route(kernel::KernelBuilder &k, const Route &p);
void countRows(kernel::KernelBuilder &k, const CountRows &p);
void placeRows(kernel::KernelBuilder &k, const PlaceRows &p);
void spreadRows(kernel::KernelBuilder &k, const SpreadRows &p);
void combineRows(kernel::KernelBuilder &k, const CombineRows &p);

void visitFields(Route &p, FieldVisitor &visitor);
void visitFields(CountRows &p, FieldVisitor &visitor);
void visitFields(PlaceRows &p, FieldVisitor &visitor);
void visitFields(SpreadRows &p, FieldVisitor &visitor);
void visitFields(CombineRows &p, FieldVisitor &visitor);

} // namespace sinter::kernels
