// Depth-first search over the calls between procedures, on a stack of its own.
#include "plan/call_graph.h"

#include "plan/walk.h"

#include <algorithm>

namespace sinter::plan {
namespace {

struct CallSite {
  uint32_t callee;
  uint32_t depth;
};

// What one procedure holds: first its own steps only, then with its calls inlined.
struct Node {
  std::vector<CallSite> calls;
  uint64_t steps = 0;
  uint64_t depth = 0;
  enum { Unseen, Open, Done } state = Unseen;
};

uint64_t stepWeight(const Step &step) {
  const auto *launch = std::get_if<Launch>(&step.op);
  return 1 + (launch ? launch->buffers.size() : 0);
}

std::vector<Node> ownSteps(const Plan &plan) {
  std::vector<Node> nodes(plan.procedures.size());
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (StepWalker walker(plan.procedures[i].steps); walker.next();) {
      if (walker.event() != WalkEvent::Step)
        continue;
      nodes[i].steps += stepWeight(walker.step());
      nodes[i].depth = std::max<uint64_t>(nodes[i].depth, walker.depth() + 1);
      if (const auto *call = std::get_if<Call>(&walker.step().op))
        nodes[i].calls.push_back({call->procedure.index, walker.depth()});
    }
  return nodes;
}

// Adds what the callees, which are done, hold. Sums saturate at a value above the limit.
void inlineCalls(Node &node, const std::vector<Node> &nodes) {
  for (const CallSite &site : node.calls) {
    node.steps = std::min<uint64_t>(node.steps + nodes[site.callee].steps, kMaxInlinedSteps + 1);
    node.depth = std::max(node.depth, site.depth + 1 + nodes[site.callee].depth);
  }
}

} // namespace

Result<void> checkCallGraph(const Plan &plan, std::span<const uint64_t> offsets) {
  std::vector<Node> nodes = ownSteps(plan);
  auto bad = [&](uint32_t index, const std::string &what) {
    return fail(Code::Corrupt, "procedure '" + plan.procedures[index].name + "' " + what,
                index < offsets.size() ? std::optional(offsets[index]) : std::nullopt);
  };
  struct Frame {
    uint32_t node;
    std::size_t next;
  };
  for (uint32_t root = 0; root < nodes.size(); ++root) {
    std::vector<Frame> stack;
    if (nodes[root].state == Node::Unseen)
      stack.push_back({root, 0});
    while (!stack.empty()) {
      Node &node = nodes[stack.back().node];
      node.state = Node::Open;
      if (stack.back().next < node.calls.size()) {
        const uint32_t callee = node.calls[stack.back().next++].callee;
        if (nodes[callee].state == Node::Open)
          return bad(callee, "calls itself, directly or through others");
        if (nodes[callee].state == Node::Unseen)
          stack.push_back({callee, 0});
        continue;
      }
      inlineCalls(node, nodes);
      node.state = Node::Done;
      if (node.steps > kMaxInlinedSteps)
        return bad(stack.back().node, "has more than " + std::to_string(kMaxInlinedSteps) +
                                          " steps and buffer arguments with its calls");
      if (node.depth > kMaxInlinedDepth)
        return bad(stack.back().node, "is nested more than " + std::to_string(kMaxInlinedDepth) +
                                          " deep with its calls");
      stack.pop_back();
    }
  }
  return {};
}

} // namespace sinter::plan
