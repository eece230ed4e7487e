#include "train/resident_state.hpp"
#include <ATen/Parallel.h>
#include "checkpoint/float_elements.hpp"
#include "checkpoint/weights_folder.hpp"
#include "core/error.hpp"
#include "core/half.hpp"
#include "core/hash.hpp"
#include "model/model.hpp"
#include "optim/optimizer.hpp"
#include "spec/arch/saved_layout.hpp"
#include <algorithm>
#include <cmath>
#include <cstring>

namespace trainx::train {

using program::GroupSpec, program::Kind, program::Master, program::ParameterSpec;

namespace {

const std::string master_prefix = "master.";

std::string text_of(const std::vector<std::int64_t>& dims) {
  std::string s = "[";
  for (const std::int64_t d : dims) s += (s.size() > 1 ? ", " : "") + std::to_string(d);
  return s + "]";
}

// Saved tensors by the parameters' names.
class NamedTensors {
 public:
  /// `where` is the folder or file that a missing tensor is missing in.
  explicit NamedTensors(std::string where) : where_(std::move(where)) {}
  void add(const std::string& name, const checkpoint::TensorEntry& entry, const std::string& file) {
    if (!left_.try_emplace(name, Saved{&entry, file}).second) throw UserError(ExitCode::bad_data, file + ": tensor '" + name + "' is there twice, under two names");
  }
  bool has(const std::string& name) const { return left_.contains(name); }
  std::vector<float> take(const std::string& name, const std::vector<std::int64_t>& dims) {
    const Saved saved = take_saved(name, dims);
    return checkpoint::to_floats(*saved.entry, saved.file + ": tensor '" + name + "'");
  }
  /// The tensor's bytes, which must be of this type.
  std::span<const std::byte> take_bytes(const std::string& name, const std::vector<std::int64_t>& dims, DType dtype) {
    const Saved saved = take_saved(name, dims);
    if (saved.entry->dtype != dtype)
      throw UserError(ExitCode::bad_data, saved.file + ": tensor '" + name + "' is " + std::string(name_of(saved.entry->dtype)) + ", the optimizer keeps " + std::string(name_of(dtype)));
    return saved.entry->data;
  }
  void require_all_taken() const {
    if (left_.empty()) return;
    const auto& [name, saved] = *left_.begin();
    throw UserError(ExitCode::bad_data, saved.file + ": tensor '" + name + "' is not part of the model; the weights are of another model");
  }

 private:
  struct Saved {
    const checkpoint::TensorEntry* entry;
    std::string file;
  };
  Saved take_saved(const std::string& name, const std::vector<std::int64_t>& dims) {
    const auto found = left_.find(name);
    if (found == left_.end()) throw UserError(ExitCode::bad_data, where_ + ": tensor '" + name + "' is missing; the weights are of another model");
    const Saved saved = found->second;
    if (saved.entry->dims != dims)
      throw UserError(ExitCode::bad_data, saved.file + ": tensor '" + name + "' has shape " + text_of(saved.entry->dims) + ", the model needs " + text_of(dims));
    left_.erase(found);
    return saved;
  }
  std::string where_;
  std::map<std::string, Saved> left_;
};

}  // namespace

ResidentState::ResidentState(const plan::PlacedProgram& placed, Arena& arena, const std::vector<program::StateSpec>& states) : placed_(placed) {
  for (const GroupSpec& g : placed.graph.groups) groups_.push_back({&g});
  const auto& buffers = placed.program.buffers;
  for (std::size_t b = 0; b < buffers.size(); ++b) {
    const auto& buffer = buffers[b];
    if (!buffer.resident) continue;
    std::byte* at = arena.data() + placed.placement.base[b];
    if (buffer.kind == Kind::scalar) {
      if (buffer.name == "step") step_ = reinterpret_cast<std::int64_t*>(at);
      else if (buffer.name == "applied") applied_ = reinterpret_cast<std::int64_t*>(at);
      else if (buffer.name == "loss_scale") loss_scale_ = reinterpret_cast<double*>(at);
      else lr_table_ = {reinterpret_cast<double*>(at), static_cast<std::size_t>(buffer.size) / sizeof(double)};
      continue;
    }
    Group& group = groups_[static_cast<std::size_t>(buffer.owner)];
    if (buffer.kind == Kind::parameter) {
      group.parameter = at;
    } else if (buffer.name.starts_with(master_prefix)) {
      group.master = at;
      group.master_kind = buffer.size == group.spec->elements * 4 ? Master::fp32 : Master::split;
    } else {
      for (const program::StateSpec& s : states)
        if (buffer.name == s.name + "." + group.spec->name) group.states.push_back({s, program::state_layout(s, *group.spec), at});
    }
  }
}

void ResidentState::initialize(const model::WeightInitializer& fill, Memory memory) {
  states_written_ = memory == Memory::written;
  for (Group& group : groups_) {
    std::vector<float> exact(static_cast<std::size_t>(group.spec->elements));
    fill(*group.spec, exact.data());
    store_exact(group, exact);
    for (const State& state : group.states)
      if (memory == Memory::written || state.spec.initial != 0) begin(state);
  }
  set_counters(0, 0);
}

void ResidentState::initialize(std::uint64_t seed) {
  initialize([seed](const GroupSpec& group, float* exact) { model::initialize_parameters(group, seed, exact); });
}

void ResidentState::set_learning_rates(const std::vector<double>& table) {
  if (table.size() != lr_table_.size()) throw InternalError("the learning rate table has " + std::to_string(table.size()) + " entries, its buffer " + std::to_string(lr_table_.size()));
  std::copy(table.begin(), table.end(), lr_table_.begin());
}

void ResidentState::set_counters(std::int64_t step, std::int64_t applied_steps) {
  *step_ = step;
  *applied_ = applied_steps;
}

void ResidentState::set_loss_scale(double scale, double finite_steps) {
  if (!loss_scale_) return;
  loss_scale_[0] = scale;
  loss_scale_[1] = finite_steps;
}

std::int64_t ResidentState::applied_steps() const { return *applied_; }

std::string ResidentState::weights_hash() const {
  std::string all;
  for (const Group& group : groups_) all += hash_hex(std::span<const std::byte>(group.parameter, static_cast<std::size_t>(group.spec->elements * size_of(placed_.graph.compute))));
  return hash_hex(all);
}

std::vector<std::span<const std::byte>> ResidentState::untouched() const {
  std::vector<std::span<const std::byte>> out;
  if (states_written_) return out;
  for (const Group& group : groups_)
    for (const State& state : group.states)
      if (state.spec.initial == 0) out.push_back(state.bytes());
  return out;
}

void ResidentState::store_exact(Group& group, std::span<const float> exact) {
  if (placed_.graph.compute == DType::f32) {
    std::memcpy(group.parameter, exact.data(), exact.size_bytes());
    return;
  }
  if (placed_.graph.compute == DType::f16) {
    std::ranges::transform(exact, reinterpret_cast<std::uint16_t*>(group.parameter), round_to_f16);
    std::memcpy(group.master, exact.data(), exact.size_bytes());
    return;
  }
  auto* bf16 = reinterpret_cast<std::uint16_t*>(group.parameter);
  std::vector<std::uint16_t> unused;
  std::uint16_t* low = reinterpret_cast<std::uint16_t*>(group.master);
  if (group.master_kind != Master::split) {
    unused.resize(exact.size());
    low = unused.data();
  }
  at::parallel_for(0, static_cast<std::int64_t>(exact.size()), std::int64_t{1} << 18, [&](std::int64_t begin, std::int64_t end) {
    optim::split_master(exact.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)), bf16 + begin, low + begin);
  });
  if (group.master_kind == Master::fp32) std::memcpy(group.master, exact.data(), exact.size_bytes());
}

std::vector<float> ResidentState::exact(const Group& group, const ParameterSpec& parameter) const {
  const auto offset = static_cast<std::size_t>(parameter.offset), n = static_cast<std::size_t>(parameter.elements());
  std::vector<float> out(n);
  const bool rounded = group.master_kind == Master::none && placed_.graph.compute == DType::bf16;   // nothing is kept of what rounding took
  if (rounded) {
    const auto* bf16 = reinterpret_cast<const std::uint16_t*>(group.parameter) + offset;
    std::transform(bf16, bf16 + n, out.begin(), widen_bf16);
  } else if (group.master_kind == Master::split) {
    optim::join_master({reinterpret_cast<const std::uint16_t*>(group.parameter) + offset, n}, reinterpret_cast<const std::uint16_t*>(group.master) + offset, out.data());
  } else {
    const std::byte* from = group.master_kind == Master::fp32 ? group.master : group.parameter;
    std::memcpy(out.data(), reinterpret_cast<const float*>(from) + offset, n * sizeof(float));
  }
  return out;
}

namespace {

// What rounds to infinity is no weight to go on from.
void require_in_fp16(std::span<const float> weights, const std::string& what) {
  for (const float x : weights)
    if (std::isfinite(x) && std::abs(x) >= 65520)
      throw UserError(ExitCode::bad_data, what + " holds " + std::to_string(x) + ", and fp16 ends at 65504; write precision.compute: bf16, or fp32");
}

}  // namespace

std::vector<std::string> ResidentState::load_weights(const std::string& folder, const spec::ModelDims& dims, MissingHead missing_head) {
  const checkpoint::WeightsFolder weights(folder);
  NamedTensors saved(folder);
  for (const auto& [name, tensor] : weights.tensors())
    if (const std::string parameter = spec::parameter_name(dims, name); !parameter.empty()) saved.add(parameter, *tensor.entry, tensor.file);
  std::vector<std::string> kept;
  for (Group& group : groups_) {
    std::vector<float> all(static_cast<std::size_t>(group.spec->elements));
    for (const ParameterSpec& p : group.spec->parameters) {
      if (p.optional && missing_head == MissingHead::keep && !saved.has(p.name)) {
        std::ranges::copy(exact(group, p), all.begin() + p.offset);
        kept.push_back(p.name);
      } else {
        spec::unpack_saved(p, saved.take(p.name, p.saved_dims), all.data());
        if (placed_.graph.compute == DType::f16) require_in_fp16(std::span<const float>(all).subspan(static_cast<std::size_t>(p.offset), static_cast<std::size_t>(p.elements())), folder + ": tensor '" + p.name + "'");
      }
    }
    store_exact(group, all);
  }
  saved.require_all_taken();
  return kept;
}

namespace {

bool in_folder_layout(const program::StateSpec& state, const ParameterSpec& p) {
  return (state.dtype == DType::f32 || state.dtype == DType::bf16) && (!state.dims || state.dims(p) == p.dims);
}
std::vector<std::int64_t> dims_of(const program::StateSpec& state, const ParameterSpec& p) { return state.dims ? state.dims(p) : p.dims; }

ParameterSpec at_zero(ParameterSpec p) {
  p.offset = 0;
  return p;
}

void fill_saved(const ParameterSpec& p, const float* elements, std::span<std::byte> out) {
  std::vector<float> saved(static_cast<std::size_t>(spec::saved_elements(p)));
  spec::pack_saved(p, elements, saved);
  std::memcpy(out.data(), saved.data(), out.size());
}

/// Elements of f32 or bf16 at the parameter's own beginning. What padding had begins anew.
void store_folder_layout(const ParameterSpec& p, const std::vector<float>& saved, const program::StateSpec& state, std::byte* at) {
  const auto n = static_cast<std::size_t>(p.elements());
  std::vector<float> elements(n);
  spec::unpack_saved(at_zero(p), saved, elements.data());
  if (state.dtype == DType::f32) std::memcpy(at, elements.data(), n * sizeof(float));
  else std::transform(elements.begin(), elements.end(), reinterpret_cast<std::uint16_t*>(at), round_to_bf16);
}

void fill_from_folder_layout(const ParameterSpec& p, const std::byte* at, DType dtype, std::span<std::byte> out) {
  if (dtype == DType::f32) return fill_saved(at_zero(p), reinterpret_cast<const float*>(at), out);
  const auto* bf16 = reinterpret_cast<const std::uint16_t*>(at);
  std::vector<float> elements(static_cast<std::size_t>(p.elements())), saved(static_cast<std::size_t>(spec::saved_elements(p)));
  std::transform(bf16, bf16 + elements.size(), elements.begin(), widen_bf16);
  spec::pack_saved(at_zero(p), elements.data(), saved);
  std::transform(saved.begin(), saved.end(), reinterpret_cast<std::uint16_t*>(out.data()), round_to_bf16);
}

}  // namespace

void ResidentState::begin(const State& state) {
  const auto n = static_cast<std::size_t>(state.layout.entries);
  if (state.spec.initial == 0) std::memset(state.data, 0, state.bytes().size());
  else if (state.spec.dtype == DType::f32) std::fill_n(reinterpret_cast<float*>(state.data), n, static_cast<float>(state.spec.initial));
  else throw InternalError(state.spec.name + " is not fp32 and does not begin as zero");
}

void ResidentState::load_states(const std::string& path) {
  states_written_ = true;
  const checkpoint::SafetensorsReader file(path);
  NamedTensors saved(path);
  for (const auto& [name, entry] : file.tensors()) saved.add(name, entry, path);
  for (Group& group : groups_)
    for (const State& state : group.states) {
      begin(state);
      for (std::size_t k = 0; k < group.spec->parameters.size(); ++k) {
        const ParameterSpec& p = group.spec->parameters[k];
        const std::int64_t offset = state.layout.offsets[k];
        if (offset == program::none) continue;
        const std::string name = state.spec.name + "." + p.name;
        std::byte* const at = state.data + offset * size_of(state.spec.dtype);
        if (in_folder_layout(state.spec, p)) {
          store_folder_layout(p, saved.take(name, p.saved_dims), state.spec, at);
        } else {
          const auto bytes = saved.take_bytes(name, dims_of(state.spec, p), state.spec.dtype);
          std::memcpy(at, bytes.data(), bytes.size());
        }
      }
    }
  saved.require_all_taken();
}

std::vector<checkpoint::TensorSource> ResidentState::weights() const {
  std::vector<checkpoint::TensorSource> out;
  for (const Group& group : groups_)
    for (const ParameterSpec& p : group.spec->parameters)
      out.push_back({p.name, DType::f32, p.saved_dims, [this, &group, &p](std::span<std::byte> bytes) {
                       fill_saved(at_zero(p), exact(group, p).data(), bytes);
                     }});
  return out;
}

std::vector<checkpoint::TensorSource> ResidentState::states() const {
  std::vector<checkpoint::TensorSource> out;
  for (const Group& group : groups_)
    for (const State& state : group.states)
      for (std::size_t k = 0; k < group.spec->parameters.size(); ++k) {
        const ParameterSpec& p = group.spec->parameters[k];
        if (state.layout.offsets[k] == program::none) continue;
        const std::byte* const at = state.data + state.layout.offsets[k] * size_of(state.spec.dtype);
        const bool folder = in_folder_layout(state.spec, p);
        out.push_back({state.spec.name + "." + p.name, state.spec.dtype, folder ? p.saved_dims : dims_of(state.spec, p), [at, folder, &p, dtype = state.spec.dtype](std::span<std::byte> bytes) {
                         if (folder) fill_from_folder_layout(p, at, dtype, bytes);
                         else std::memcpy(bytes.data(), at, bytes.size());
                       }});
      }
  return out;
}

}  // namespace trainx::train
