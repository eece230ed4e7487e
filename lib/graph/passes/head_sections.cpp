#include "graph/passes/head_sections.hpp"

namespace trainx::graph {

using namespace operations;

namespace {

std::vector<HeadSection> sections_of(const Attention& a, int input) {
  const HeadSection queries{a.query_heads, a.head_size}, keys{a.key_value_heads, a.head_size},
      values{a.key_value_heads, a.values()};
  if (input == Attention::memory) return {keys, values};
  if (input != Attention::qkv) return {};
  if (a.memory_length > 0) return {queries};
  return {queries, keys, values};
}

std::vector<HeadSection> sections_of(const Rotary& r, int input, std::int64_t columns) {
  if (input != Rotary::x) return {};
  const HeadSection queries{r.query_heads, r.head_size}, keys{r.key_value_heads, r.head_size};
  const std::int64_t values = columns - queries.columns() - keys.columns();
  if (values == 0) return {queries, keys};
  return {queries, keys, {r.key_value_heads, values / r.key_value_heads}};
}

}  // namespace

bool is_of_heads(const Operation& operation) {
  return std::holds_alternative<Attention>(operation) || std::holds_alternative<Rotary>(operation);
}

std::vector<HeadSection> head_sections(const Operation& operation, int input,
                                       std::int64_t columns) {
  if (const auto* attention = std::get_if<Attention>(&operation))
    return sections_of(*attention, input);
  if (const auto* rotary = std::get_if<Rotary>(&operation))
    return sections_of(*rotary, input, columns);
  return {};
}

}  // namespace trainx::graph
