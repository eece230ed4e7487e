#include "graph/groups.hpp"
#include "program/shards.hpp"
#include <algorithm>
#include <map>
#include <memory>
#include <utility>

namespace trainx::graph {

using program::GroupSpec, program::ParameterSpec;

namespace {

std::int64_t aligned(std::int64_t n) {
  constexpr std::int64_t to = program::group_alignment;
  return (n + to - 1) / to * to;
}

/// Puts the parameter at the end of the group, aligned. `continues`: right behind the one before,
/// so that a block can read both as one tensor.
void add(program::GroupSpec& group, program::ParameterSpec p, bool continues) {
  p.offset = continues ? group.parameters.back().offset + group.parameters.back().elements()
                       : aligned(group.elements);
  if (p.saved_dims.empty()) {
    p.saved_dims = p.dims;
    if (p.saved_transposed) std::swap(p.saved_dims.end()[-1], p.saved_dims.end()[-2]);
  }
  group.elements = aligned(p.offset + p.elements());
  group.parameters.push_back(std::move(p));
}

/// Parameters that the block's operations are the first to use, as they are used.
std::vector<int> introduced(const Block& block, std::vector<char>& seen) {
  std::vector<int> out, opening;
  for (std::size_t k = 0; k < block.ops.size(); ++k) {
    const bool opens = k == 0 && block.kind != BlockKind::embedding &&
                       std::holds_alternative<operations::ResidualNorm>(block.ops[k].operation);
    for (const ParameterId& p : block.ops[k].parameters)
      for (int i = 0; p.index != none && i < p.count; ++i)
        if (auto& s = seen[static_cast<std::size_t>(p.index + i)]; !std::exchange(s, true))
          (opens ? opening : out).push_back(p.index + i);
  }
  out.insert(out.end(), opening.begin(), opening.end());
  return out;
}

/// A group is trained alike: of a group of the model that is not, what is trained as its first
/// parameter has its name, and each other way a number more.
std::string name_of_part(const std::vector<GroupSpec>& groups,
                         const std::map<std::string, int>& numbers, const std::string& name,
                         const program::GroupTraining& training) {
  std::string part = name;
  for (int number = 2;; ++number) {
    const auto at = numbers.find(part);
    if (at == numbers.end() || groups[static_cast<std::size_t>(at->second)].training == training)
      return part;
    part = name + "." + std::to_string(number);
  }
}

/// Of what ranks have parts: which tensors are whose, and how others are cut.
void mark_parts(const Model& model, ParameterPlaces& placed) {
  for (const Block& block : model.blocks)
    for (const Node& op : block.ops)
      for (const ParameterId& p : op.parameters)
        for (int i = 0; p.parts.are_several() && i < p.count; ++i) {
          const ParameterPlaces::Place at = placed.places[static_cast<std::size_t>(p.index + i)];
          GroupSpec& group = placed.groups[static_cast<std::size_t>(at.group)];
          group.parts = p.parts;
          ParameterSpec& spec = group.parameters[static_cast<std::size_t>(at.index)];
          spec.cut_dimension = static_cast<int>(dimension_of(p.part_of, spec.dims.size()));
          spec.sections = p.sections;
          if (p.count > 1 && p.part_of == PartOf::tensors)
            spec.part = i / (p.count / p.parts.count);
        }
}

/// By parameter: ranks have parts of it.
std::vector<char> parameters_in_parts(const Model& model) {
  std::vector<char> out(model.parameters.size());
  for (const Block& block : model.blocks)
    for (const Node& op : block.ops)
      for (const ParameterId& p : op.parameters)
        for (int i = 0; p.parts.are_several() && i < p.count; ++i)
          out[static_cast<std::size_t>(p.index + i)] = true;
  return out;
}

/// Sizes of groups in parts, and where the tensors that blocks read first lie in a part.
void lay_out_parts(ParameterPlaces& placed) {
  for (std::size_t g = 0; g < placed.groups.size(); ++g) {
    GroupSpec& group = placed.groups[g];
    if (!group.parts.are_several()) continue;
    const GroupSpec part = program::part_of(group, 0);
    std::int64_t elements = 0;
    for (const program::ParameterSpec& p : part.parameters)
      elements = std::max(elements, aligned(p.offset + p.elements()));
    group.elements = elements * group.parts.count;
    group.of_part = std::make_shared<const std::vector<program::ParameterSpec>>(part.parameters);
    for (ParameterPlaces::Place& place : placed.places) {
      if (place.group != static_cast<int>(g)) continue;
      // of a later part: nobody reads it under that number
      const auto here = std::ranges::find(
          part.parameters, group.parameters[static_cast<std::size_t>(place.index)].name,
          &program::ParameterSpec::name);
      place.index =
          here == part.parameters.end() ? none : static_cast<int>(here - part.parameters.begin());
    }
  }
}

}  // namespace

ParameterPlaces place_parameters(const Model& model) {
  ParameterPlaces placed;
  placed.places.resize(model.parameters.size());
  std::map<std::string, int> numbers;
  std::vector<char> seen(model.parameters.size());
  const std::vector<char> in_parts = parameters_in_parts(model);
  for (const Block& block : model.blocks) {
    const std::vector<int> all = introduced(block, seen);
    for (const bool decay : {true, false})
      for (const int p : all) {
        const ModelParameter& parameter = model.parameters[static_cast<std::size_t>(p)];
        if (parameter.spec.decay != decay) continue;
        const bool apart = parameter.spec.fp8_scale != none;
        // what all parts of a block have
        const bool whole = block.parts.are_several() && !in_parts[static_cast<std::size_t>(p)];
        const std::string name = apart                      ? block.name + ".fp8"
                                 : parameter.only_cast      ? block.name + ".cast"
                                 : !parameter.group.empty() ? parameter.group
                                 : whole                    ? block.name + ".whole"
                                                            : block.name;
        const auto [at, is_new] =
            numbers.try_emplace(name_of_part(placed.groups, numbers, name, parameter.training),
                                static_cast<int>(placed.groups.size()));
        if (is_new)
          placed.groups.push_back({.name = at->first,
                                   .training = parameter.training,
                                   .fp8 = apart && parameter.in_fp8});
        GroupSpec& group = placed.groups[static_cast<std::size_t>(at->second)];
        add(group, parameter.spec, parameter.continues);
        placed.places[static_cast<std::size_t>(p)] = {
            at->second, static_cast<int>(group.parameters.size()) - 1};
      }
  }
  mark_parts(model, placed);
  lay_out_parts(placed);
  return placed;
}

}  // namespace trainx::graph
