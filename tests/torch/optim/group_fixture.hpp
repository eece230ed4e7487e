// A group of parameters with gaps of NaN, its memory for every kind of master, and gradients that
// follow from a seed.
#pragma once
#include "core/half.hpp"
#include "optim/optimizer.hpp"
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <ostream>
#include <random>

namespace trainx::program {

// Catch2 v3 prints what it generates.
inline std::ostream& operator<<(std::ostream& out, Master kind) {
  return out << static_cast<int>(kind);
}

}  // namespace trainx::program

namespace trainx::optim {

/// Two decayed tensors and one that is not, of about `n` elements each (n, 1 and n / 2 + 1).
inline program::GroupSpec group_of(std::int64_t n) {
  program::GroupSpec group{"g", {}, 0};
  const std::pair<std::int64_t, bool> tensors[] = {{n, true}, {1, true}, {n / 2 + 1, false}};
  for (const auto& [elements, decay] : tensors) {
    program::ParameterSpec p;
    p.name = "p" + std::to_string(group.parameters.size());
    p.dims = {elements};
    p.offset = group.elements;
    p.decay = decay;
    group.parameters.push_back(p);
    group.elements += elements + program::group_alignment - 1;
    group.elements -= group.elements % program::group_alignment;
    // a gap also where the size is a multiple of the alignment
    group.elements += program::group_alignment;
  }
  return group;
}

/// A decayed matrix of rows x columns, of which the last `padding` rows are not saved, and a vector
/// of `columns` that is not decayed.
inline program::GroupSpec matrix_group(std::int64_t rows, std::int64_t columns,
                                       std::int64_t padding = 0) {
  program::GroupSpec group{"g", {}, 0};
  program::ParameterSpec matrix{.name = "matrix",
                                .dims = {rows, columns},
                                .decay = true,
                                .saved_dims = {rows - padding, columns}};
  group.parameters.push_back(matrix);
  group.elements = (rows * columns / program::group_alignment + 2) * program::group_alignment;
  group.parameters.push_back(
      {.name = "vector", .dims = {columns}, .offset = group.elements, .saved_dims = {columns}});
  group.elements += (columns / program::group_alignment + 2) * program::group_alignment;
  return group;
}

/// One state's buffer. Where nothing is kept it has bytes of ones: NaN in every floating type.
struct StateMemory {
  program::StateSpec spec;
  program::StateLayout layout;
  std::vector<std::byte> bytes;
  std::vector<bool> kept;  // by entry

  StateMemory(const program::StateSpec& s, const program::GroupSpec& group)
      : spec(s), layout(program::state_layout(s, group)) {
    const auto size = static_cast<std::size_t>(size_of(s.dtype));
    bytes.assign(static_cast<std::size_t>(layout.entries) * size, std::byte{0xff});
    kept.assign(static_cast<std::size_t>(layout.entries), false);
    for (std::size_t k = 0; k < group.parameters.size(); ++k) {
      if (layout.offsets[k] == program::none) continue;
      const program::TensorSpec tensor{
          "", s.dtype, s.dims ? s.dims(group.parameters[k]) : group.parameters[k].dims};
      for (auto i = static_cast<std::size_t>(layout.offsets[k]);
           i < static_cast<std::size_t>(layout.offsets[k] + tensor.elements()); ++i) {
        kept[i] = true;
        std::memset(&bytes[i * size], 0, size);
        if (const float initial = static_cast<float>(s.initial); initial != 0)
          std::memcpy(&bytes[i * size], &initial, size);
      }
    }
  }
  void* data() { return bytes.empty() ? nullptr : bytes.data(); }
  float* floats() { return reinterpret_cast<float*>(bytes.data()); }
  float operator[](std::size_t i) const {
    if (spec.dtype == DType::f32) return reinterpret_cast<const float*>(bytes.data())[i];
    if (spec.dtype == DType::bf16)
      return widen_bf16(reinterpret_cast<const std::uint16_t*>(bytes.data())[i]);
    return static_cast<float>(bytes[i]);
  }
  bool gaps_untouched() const {
    const auto size = static_cast<std::size_t>(size_of(spec.dtype));
    for (std::size_t i = 0; i < bytes.size(); ++i)
      if (!kept[i / size] && bytes[i] != std::byte{0xff}) return false;
    return true;
  }
};

inline std::vector<program::StateSpec> states_of(const options::OptimizerOptions& o) {
  return std::visit([](const auto& x) { return options::states(x); }, o);
}
/// So many fp32 states, as adamw and sgd keep them.
inline std::vector<program::StateSpec> fp32_states(std::size_t count) {
  std::vector<program::StateSpec> states;
  for (std::size_t k = 0; k < count; ++k) states.push_back({"s" + std::to_string(k), DType::f32});
  return states;
}

struct GroupFixture {
  program::GroupSpec group;
  std::vector<bool> used;
  std::vector<float> gradient, exact;  // exact: the parameter itself, or the fp32 master
  std::vector<std::uint16_t> bf16, low;
  std::vector<StateMemory> states;
  DType dtype;
  program::Master kind;
  // stochastic rounding, as the sixth group of a graph
  std::optional<std::uint64_t> rounding_seed;

  GroupFixture(std::int64_t n, std::size_t state_count, DType parameter_dtype,
               program::Master master_kind, unsigned seed)
      : GroupFixture(group_of(n), fp32_states(state_count), parameter_dtype, master_kind, seed) {}
  GroupFixture(std::int64_t n, const options::OptimizerOptions& options, DType parameter_dtype,
               program::Master master_kind, unsigned seed)
      : GroupFixture(group_of(n), states_of(options), parameter_dtype, master_kind, seed) {}
  GroupFixture(program::GroupSpec parameters, const std::vector<program::StateSpec>& kept,
               DType parameter_dtype, program::Master master_kind, unsigned seed)
      : group(std::move(parameters)),
        used(static_cast<std::size_t>(group.elements)),
        dtype(parameter_dtype),
        kind(master_kind) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const auto size = static_cast<std::size_t>(group.elements);
    gradient.assign(size, nan);
    exact.assign(size, nan);
    bf16.assign(size, 0x7fc1);
    low.assign(size, 0x1234);
    for (const auto& s : kept) states.emplace_back(s, group);
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0, 0.5f);
    for (const auto& p : group.parameters)
      for (auto i = static_cast<std::size_t>(p.offset);
           i < static_cast<std::size_t>(p.offset + p.elements()); ++i) {
        used[i] = true;
        exact[i] = normal(random);
        split_master({&exact[i], 1}, &bf16[i], &low[i]);
        if (dtype == DType::bf16 && kind == program::Master::absent)
          low[i] = 0, join_master({&bf16[i], 1}, &low[i], &exact[i]);
      }
  }
  /// Uniform between -1 and 1 times powers of two from 2^-9 to 2^2: a hash of seed and element, as
  /// there are many to make.
  void new_gradient(unsigned seed) {
    for (std::size_t i = 0; i < used.size(); ++i) {
      if (!used[i]) continue;
      std::uint64_t x = (seed + 1) * 0x9E3779B97F4A7C15ull ^ i * 0xD1342543DE82EF95ull;
      x = (x ^ x >> 29) * 0xBF58476D1CE4E5B9ull;
      x ^= x >> 32;
      const auto power = static_cast<std::uint32_t>(127 - 9 + x % 12) << 23;
      gradient[i] = (static_cast<float>(static_cast<std::int32_t>(x >> 8)) * 0x1p-31f) *
                    __builtin_bit_cast(float, power);
    }
  }
  GroupMemory memory() {
    GroupMemory m{
        &group,     0,       gradient.data(),
        DType::f32, dtype,   dtype == DType::f32 ? static_cast<void*>(exact.data()) : bf16.data(),
        kind,       nullptr, {}};
    if (kind == program::Master::fp32) m.master = exact.data();
    if (kind == program::Master::split) m.master = low.data();
    for (auto& state : states) m.states.push_back(state.data());
    m.rounding_seed = rounding_seed;
    m.index = 5;
    return m;
  }
  /// The exact weights, whatever the kind.
  std::vector<float> weights() const {
    if (dtype == DType::f32 || kind == program::Master::fp32) return exact;
    std::vector<float> joined(exact.size());
    const std::vector<std::uint16_t> none(exact.size(), 0);
    join_master(bf16, kind == program::Master::split ? low.data() : none.data(), joined.data());
    return joined;
  }
  /// Gradients, weights and states have their first bytes in all gaps.
  bool gaps_untouched() const {
    bool same = true;
    for (std::size_t i = 0; i < used.size(); ++i) {
      if (used[i]) continue;
      same = same && std::isnan(gradient[i]) && std::isnan(exact[i]) && bf16[i] == 0x7fc1 &&
             low[i] == 0x1234;
    }
    for (const StateMemory& state : states) same = same && state.gaps_untouched();
    return same;
  }
};

inline bool same_bits(const StateMemory& a, const StateMemory& b) { return a.bytes == b.bytes; }
template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

}  // namespace trainx::optim
