// The table of families with experts, as llama.cpp 0.5.0-dev reads them.
#include "models/expert_family.h"

#include <algorithm>

namespace sinter::models {
namespace {

using graph::RouterKind;

constexpr ExpertFamily kFamilies[] = {
    {.architecture = "llama", .optional = true},
    {.architecture = "mistral3", .optional = true},
    {.architecture = "minicpm", .optional = true},
    {.architecture = "granite", .optional = true, .shared = SharedExpert::OptionalLength},
    {.architecture = "granitemoe", .shared = SharedExpert::OptionalLength},
    {.architecture = "qwen3moe", .hidden = ExpertHidden::Shared},
    {.architecture = "qwen3vlmoe", .hidden = ExpertHidden::Shared},
    {.architecture = "mellum", .hidden = ExpertHidden::Shared},
    {.architecture = "qwen2moe",
     .normalized = Normalized::No,
     .hidden = ExpertHidden::Shared,
     .shared = SharedExpert::Length,
     .sharedGate = true},
    {.architecture = "qwen35moe",
     .scaled = true,
     .hidden = ExpertHidden::Shared,
     .shared = SharedExpert::Length,
     .sharedGate = true},
    {.architecture = "qwen3next",
     .scaled = true,
     .hidden = ExpertHidden::Shared,
     .shared = SharedExpert::Length,
     .sharedGate = true},
    {.architecture = "lfm2moe",
     .routerByKey = true,
     .scaled = true,
     .leadingDense = true,
     .hidden = ExpertHidden::Required},
    {.architecture = "olmoe", .normalized = Normalized::No},
    {.architecture = "dbrx"},
    {.architecture = "gpt-oss",
     .router = RouterKind::ChosenSoftmax,
     .normalized = Normalized::No,
     .hidden = ExpertHidden::Required,
     .activation = ExpertActivation::ClampedSilu},
    {.architecture = "deepseek",
     .normalized = Normalized::No,
     .scaled = true,
     .leadingDense = true,
     .hidden = ExpertHidden::Required,
     .shared = SharedExpert::Count},
    {.architecture = "bailingmoe",
     .normalized = Normalized::ByKey,
     .scaled = true,
     .hidden = ExpertHidden::Required,
     .shared = SharedExpert::Count},
    {.architecture = "bailingmoe2",
     .routerByKey = true,
     .normalized = Normalized::ByKey,
     .scaled = true,
     .leadingDense = true,
     .hidden = ExpertHidden::Required,
     .shared = SharedExpert::Count},
    {.architecture = "dots1",
     .routerByKey = true,
     .normalized = Normalized::ByKey,
     .scaled = true,
     .leadingDense = true,
     .hidden = ExpertHidden::Required,
     .shared = SharedExpert::Count},
    {.architecture = "glm4moe",
     .router = RouterKind::Sigmoid,
     .routerByKey = true,
     .normalized = Normalized::ByKey,
     .scaled = true,
     .leadingDense = true,
     .hidden = ExpertHidden::Required,
     .shared = SharedExpert::Count},
    {.architecture = "ernie4_5-moe",
     .leadingDense = true,
     .byStep = true,
     .hidden = ExpertHidden::Required,
     .shared = SharedExpert::OptionalLength},
    {.architecture = "hunyuan-moe", .shared = SharedExpert::Length},
    {.architecture = "minimax-m2", .routerByKey = true, .hidden = ExpertHidden::Required},
    {.architecture = "nomic-bert-moe",
     .normalized = Normalized::No,
     .scaled = true,
     .second = true,
     .gated = false},
    {.architecture = "smallthinker",
     .routerByKey = true,
     .hidden = ExpertHidden::Shared,
     .activation = ExpertActivation::Relu},
};

} // namespace

const ExpertFamily *findExpertFamily(std::string_view architecture) {
  const auto found = std::ranges::find(kFamilies, architecture, &ExpertFamily::architecture);
  return found == std::end(kFamilies) ? nullptr : &*found;
}

} // namespace sinter::models
