// Puts a block's spec together: slots at their places, uses by phase, the matrix products of linear
// layers.
#pragma once
#include "program/model_graph.hpp"
#include <algorithm>
#include <cstdint>
#include <initializer_list>

namespace trainx::spec {

struct BlockBuilder {
  const program::ModelGraph& graph;
  program::BlockSpec block;

  program::SlotSpec& slot(int at, std::string name, program::Role role, int index,
                          program::TensorSpec tensor) {
    if (block.slots.size() <= static_cast<std::size_t>(at)) block.slots.resize(at + 1);
    tensor.name = name;
    return block.slots[at] = {
               .name = std::move(name), .role = role, .index = index, .tensor = std::move(tensor)};
  }
  program::SlotSpec& value(int at, std::string name, int index) {
    return slot(at, std::move(name), program::Role::value, index, graph.values[index]);
  }
  program::SlotSpec& value_gradient(int at, std::string name, int index) {
    return slot(at, std::move(name), program::Role::value_gradient, index, graph.values[index]);
  }
  program::SlotSpec& batch(int at, int index) {
    return slot(at, graph.batch[index].name, program::Role::batch, index, graph.batch[index]);
  }
  program::SlotSpec& scalar(int at, int index) {
    return slot(at, graph.scalars[index].name, graph.scalars[index].role, index,
                graph.scalars[index]);
  }
  program::SlotSpec& parameters(int at, int group) {
    return slot(at, graph.groups[group].name, program::Role::parameter, group,
                {.dtype = graph.compute, .dims = {graph.groups[group].elements}});
  }
  program::SlotSpec& gradients(int at, int group) {
    return slot(at, "d_" + graph.groups[group].name, program::Role::gradient, group,
                {.dtype = DType::f32, .dims = {graph.groups[group].elements}});
  }
  program::SlotSpec& saved(int at, std::string name, DType dtype, std::vector<std::int64_t> dims) {
    return slot(at, std::move(name), program::Role::saved, program::none,
                {.dtype = dtype, .dims = std::move(dims)});
  }
  program::SlotSpec& scratch(int at, std::string name, DType dtype,
                             std::vector<std::int64_t> dims) {
    return slot(at, std::move(name), program::Role::scratch, program::none,
                {.dtype = dtype, .dims = std::move(dims)});
  }
};

inline void use(program::Phase& phase, program::How how, std::initializer_list<int> slots) {
  for (int s : slots) phase.uses.push_back({s, how});
}

/// forward, input gradient and weight gradient of y[N, n] = x[N, k] w[n, k]^T.
inline void add_linear(BlockBuilder& b, std::int64_t N, std::int64_t n, std::int64_t k,
                       int output) {
  b.block.phases[program::Op::forward].gemms.push_back({N, n, k, 1, output});
  b.block.phases[program::Op::backward].gemms.push_back({N, k, n});
  b.block.phases[program::Op::backward].gemms.push_back(
      {.m = n, .n = k, .k = N, .a_transposed = true});
}

/// The products over `rows` rows in chunks of `chunk`, of the shape that `make` gives for a number
/// of rows.
template <class Make>
void add_chunked(program::Phase& phase, std::int64_t rows, std::int64_t chunk, Make make) {
  program::Gemm full = make(chunk), rest = make(rows % chunk);
  full.count = rows / chunk;
  if (full.count > 0) phase.gemms.push_back(full);
  if (rows % chunk > 0) phase.gemms.push_back(rest);
}

/// Rows of logits that exist at once: 8 MiB of fp32, of `columns` each.
inline std::int64_t logit_rows(std::int64_t columns, std::int64_t rows) {
  return std::clamp<std::int64_t>(std::int64_t{8} * 1024 * 1024 / 4 / columns, 1, rows);
}

}  // namespace trainx::spec
