#include "train/resident_state.hpp"
#include <ATen/Parallel.h>
#include "checkpoint/float_elements.hpp"
#include "checkpoint/weights_folder.hpp"
#include "core/error.hpp"
#include "model/model.hpp"
#include "optim/optimizer.hpp"
#include "spec/arch/saved_layout.hpp"
#include <algorithm>
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
    const auto found = left_.find(name);
    if (found == left_.end()) throw UserError(ExitCode::bad_data, where_ + ": tensor '" + name + "' is missing; the weights are of another model");
    const Saved saved = found->second;
    if (saved.entry->dims != dims)
      throw UserError(ExitCode::bad_data, saved.file + ": tensor '" + name + "' has shape " + text_of(saved.entry->dims) + ", the model needs " + text_of(dims));
    left_.erase(found);
    return checkpoint::to_floats(*saved.entry, saved.file + ": tensor '" + name + "'");
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
  std::string where_;
  std::map<std::string, Saved> left_;
};

}  // namespace

ResidentState::ResidentState(const plan::PlacedProgram& placed, Arena& arena) : placed_(placed) {
  for (const GroupSpec& g : placed.graph.groups) groups_.push_back({&g});
  const auto& buffers = placed.program.buffers;
  for (std::size_t b = 0; b < buffers.size(); ++b) {
    const auto& buffer = buffers[b];
    if (!buffer.resident) continue;
    std::byte* at = arena.data() + placed.placement.base[b];
    if (buffer.kind == Kind::scalar) {
      if (buffer.name == "step") step_ = reinterpret_cast<std::int64_t*>(at);
      else if (buffer.name == "applied") applied_ = reinterpret_cast<std::int64_t*>(at);
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
      group.states[buffer.name.substr(0, buffer.name.size() - group.spec->name.size() - 1)] = reinterpret_cast<float*>(at);
    }
  }
}

void ResidentState::initialize(const model::WeightInitializer& fill, Memory memory) {
  states_written_ = memory == Memory::written;
  for (Group& group : groups_) {
    std::vector<float> exact(static_cast<std::size_t>(group.spec->elements));
    fill(*group.spec, exact.data());
    store_exact(group, exact);
    if (memory == Memory::new_arena) continue;
    for (auto& [name, state] : group.states) std::fill_n(state, group.spec->elements, 0.0f);
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

std::int64_t ResidentState::applied_steps() const { return *applied_; }

std::vector<std::span<const std::byte>> ResidentState::untouched() const {
  std::vector<std::span<const std::byte>> out;
  if (states_written_) return out;
  for (const Group& group : groups_)
    for (const auto& [name, state] : group.states) out.push_back(std::as_bytes(std::span(state, static_cast<std::size_t>(group.spec->elements))));
  return out;
}

void ResidentState::store_exact(Group& group, std::span<const float> exact) {
  if (placed_.graph.compute == DType::f32) {
    std::memcpy(group.parameter, exact.data(), exact.size_bytes());
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
  if (group.master_kind == Master::split) {
    optim::join_master({reinterpret_cast<const std::uint16_t*>(group.parameter) + offset, n}, reinterpret_cast<const std::uint16_t*>(group.master) + offset, out.data());
  } else {
    const std::byte* from = group.master_kind == Master::fp32 ? group.master : group.parameter;
    std::memcpy(out.data(), reinterpret_cast<const float*>(from) + offset, n * sizeof(float));
  }
  return out;
}

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
      }
    }
    store_exact(group, all);
  }
  saved.require_all_taken();
  return kept;
}

void ResidentState::load_states(const std::string& path) {
  states_written_ = true;
  const checkpoint::SafetensorsReader file(path);
  NamedTensors saved(path);
  for (const auto& [name, entry] : file.tensors()) saved.add(name, entry, path);
  for (Group& group : groups_)
    for (auto& [name, state] : group.states) {
      std::fill_n(state, group.spec->elements, 0.0f);
      for (const ParameterSpec& p : group.spec->parameters) spec::unpack_saved(p, saved.take(name + "." + p.name, p.saved_dims), state);
    }
  saved.require_all_taken();
}

namespace {

std::int64_t saved_elements(const ParameterSpec& p) {
  std::int64_t n = 1;
  for (const std::int64_t d : p.saved_dims) n *= d;
  return n;
}

void fill_saved(const ParameterSpec& p, const float* elements, std::span<std::byte> out) {
  std::vector<float> saved(static_cast<std::size_t>(saved_elements(p)));
  spec::pack_saved(p, elements, saved);
  std::memcpy(out.data(), saved.data(), out.size());
}

}  // namespace

std::vector<checkpoint::TensorSource> ResidentState::weights() const {
  std::vector<checkpoint::TensorSource> out;
  for (const Group& group : groups_)
    for (const ParameterSpec& p : group.spec->parameters)
      out.push_back({p.name, DType::f32, p.saved_dims, [this, &group, &p](std::span<std::byte> bytes) {
                       ParameterSpec alone = p;
                       alone.offset = 0;
                       fill_saved(alone, exact(group, p).data(), bytes);
                     }});
  return out;
}

std::vector<checkpoint::TensorSource> ResidentState::states() const {
  std::vector<checkpoint::TensorSource> out;
  for (const Group& group : groups_)
    for (const auto& [name, state] : group.states)
      for (const ParameterSpec& p : group.spec->parameters)
        out.push_back({name + "." + p.name, DType::f32, p.saved_dims, [state = state, &p](std::span<std::byte> bytes) { fill_saved(p, state, bytes); }});
  return out;
}

}  // namespace trainx::train
