// Kernels that choose the k largest of wide rows. Rows are cut into groups of neighbouring
// elements: a row's k largest lie in the k groups whose largest elements come first, so choices
// among few elements find them, level by level.
//
// Elements compare as i32 keys, which are in the order of the floats; the key of NaN is the largest
// and both zeros have one. Of equal keys the lower index comes first.
#pragma once

#include "kernels/fields.h"

namespace sinter::kernels {

inline constexpr int64_t kGroupElements = 16;

// The largest key of each group. Arguments: in f32 values or i32 keys [M, N], tops i32 [M, ceil(N /
// kGroupElements)]. Grid x walks tops, y walks M.
struct GroupTops {
  kernel::Element in = kernel::F32;
};

// How many elements of its row come before each. Arguments: in f32 values or i32 keys [M, N], with
// `numbered` the elements' indices numbers i32 [M, N] instead of their places, ranks i32 [M, N].
// Grid x walks N, y walks M.
struct RankElements {
  kernel::Element in = kernel::F32;
  bool numbered = false;
};

// The elements of the groups whose rank is below `choices`, group by group in the order of their
// ranks. Arguments: in f32 values or i32 keys [M, N], ranks i32 [M, G], with `numbered` the numbers
// of these groups i32 [M, G] instead of their places, keys and indices i32 [M, choices *
// kGroupElements]; beyond the row's end, keys that come last. Grid x walks G, several groups a
// program, y walks M.
struct SpreadGroups {
  kernel::Element in = kernel::F32;
  bool numbered = false;
  int64_t choices = 8;
};

// Elements in the order of their ranks. Arguments: in f32 values or i32 keys [M, N], ranks i32 [M,
// N], with `numbered` their indices numbers i32 [M, N] instead of their places, largest f32 [M,
// choices], indices i32 [M, choices]. Grid x walks choices, y walks M.
struct ChooseRanked {
  kernel::Element in = kernel::F32;
  bool numbered = false;
  int64_t choices = 8;
};

void groupTops(kernel::KernelBuilder &k, const GroupTops &p);
void rankElements(kernel::KernelBuilder &k, const RankElements &p);
void spreadGroups(kernel::KernelBuilder &k, const SpreadGroups &p);
void chooseRanked(kernel::KernelBuilder &k, const ChooseRanked &p);

void visitFields(GroupTops &p, FieldVisitor &visitor);
void visitFields(RankElements &p, FieldVisitor &visitor);
void visitFields(SpreadGroups &p, FieldVisitor &visitor);
void visitFields(ChooseRanked &p, FieldVisitor &visitor);

} // namespace sinter::kernels
