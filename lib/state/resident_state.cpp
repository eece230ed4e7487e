#include "state/resident_state.hpp"
#include "checkpoint/adapter_folder.hpp"
#include "checkpoint/weights_folder.hpp"
#include "core/adapter_base.hpp"
#include "core/error.hpp"
#include "core/mapped_region.hpp"
#include "merge/base_in_file.hpp"
#include "merge/merged_adapter.hpp"
#include "core/half.hpp"
#include "core/hash.hpp"
#include "optim/optimizer.hpp"
#include "program/frozen.hpp"
#include "program/shards.hpp"
#include "architectures/absent_tensor.hpp"
#include "architectures/own_head.hpp"
#include "architectures/saved_layout.hpp"
#include "tensor/large_memory.hpp"
#include "state/saved_layout_io.hpp"
#include "state/mxfp4.hpp"
#include "state/named_tensors.hpp"
#include "state/new_tokens.hpp"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace trainx::state {

using program::GroupSpec, program::Master, program::ParameterSpec, program::Role;

namespace {

/// What the part has of the group's elements.
std::vector<float> part_of_exact(const GroupSpec& group, const GroupSpec& part,
                                 std::span<const float> exact) {
  std::vector<float> out(static_cast<std::size_t>(part.elements));
  for (const ParameterSpec& p : part.parameters) {
    const auto whole = std::ranges::find(group.parameters, p.name, &ParameterSpec::name);
    p.slice.for_each_run(p.elements(), [&](std::int64_t from, std::int64_t to, std::int64_t count) {
      std::copy_n(exact.begin() + whole->offset + from, count, out.begin() + p.offset + to);
    });
  }
  return out;
}

}  // namespace

void ResidentState::initialize(const model::WeightInitializer& weights, Memory memory) {
  states_written_ = memory == Memory::written;
  std::vector<float> memory_of_largest;
  for (Group& group : groups_) {
    if (!group.is_kept && (!weights.seed || !draw(group, *weights.seed))) {
      const auto elements = static_cast<std::size_t>(group.spec->elements);
      if (elements > memory_of_largest.size()) memory_of_largest.resize(elements);
      const std::span<float> exact(memory_of_largest.data(), elements);
      weights.fill(*group.spec, exact.data());
      store_exact(group, exact);
    }
    for (const State& state : group.states)
      if (group.is_here && !state.spec.averages_weights &&  // which begins as the weights
          (memory == Memory::written || state.spec.initial != 0 || state.on_host))
        begin(state);
  }
  store();
  set_counters(0, 0);
}

void ResidentState::keep_frozen(program::Space space, const std::vector<program::Range>& pages,
                                bool keeps) {
  for (std::size_t k = 0; k < placed_.program.buffers.size(); ++k) {
    const program::Buffer& b = placed_.program.buffers[k];
    const program::Bytes at = placed_.placement.base[k];
    if (b.resident && b.space == space && is_frozen(placed_.graph, b) &&
        std::ranges::any_of(pages, [&](const auto& p) { return at >= p.begin && at < p.end; }))
      groups_[static_cast<std::size_t>(b.index)].is_kept = keeps;
  }
}

void ResidentState::store() {
  window_.store();
  weights_window_.store();
}

void ResidentState::forget_windows() const {
  gathered_.clear();
  window_.forget();
  weights_window_.forget();
}

void ResidentState::initialize(std::uint64_t seed) { initialize(model::drawn_weights(seed)); }

std::span<const double> ResidentState::set_learning_rates(const std::vector<double>& table) {
  if (table.size() != lr_table_.size())
    throw InternalError("the learning rate table has " + std::to_string(table.size()) +
                        " entries, its buffer " + std::to_string(lr_table_.size()));
  std::copy(table.begin(), table.end(), lr_table_.begin());
  return lr_table_;
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

void ResidentState::set_fp8_ranges(const std::vector<double>& ranges) {
  if (!ranges.empty() && !fp8_ranges_.empty() && ranges.size() != fp8_ranges_.size())
    throw InternalError("ranges of " + std::to_string(ranges.size()) +
                        " numbers, where there are " + std::to_string(fp8_ranges_.size()));
  if (ranges.empty())
    std::ranges::fill(fp8_ranges_, 0.0);
  else if (!fp8_ranges_.empty())
    std::ranges::copy(ranges, fp8_ranges_.begin());
}

std::int64_t ResidentState::applied_steps() const { return *applied_; }

std::string ResidentState::weights_hash() const {
  std::string all;
  for (const Group& group : groups_)
    all += !group.loaded_hash.empty()
               ? group.loaded_hash
               : hash_hex(std::span<const std::byte>(read(group.parameter), group.parameter.bytes));
  return hash_hex(all);
}

void ResidentState::store_exact(Group& group, std::span<const float> exact) {
  if (group.is_kept) return;
  group.loaded_hash = !group.layout.is_whole() || staged_ ? hash_hex(std::as_bytes(exact)) : "";
  for (const Place& stored : exact_parts(group)) gathered_.erase(stored);
  if (!group.is_here) return;
  std::vector<float> part;
  if (group.spec->parts.are_several()) {
    part = part_of_exact(*group.spec, group.shards[own(group)], exact);
    exact = part;
  } else if (!group.layout.is_whole()) {
    const auto size = static_cast<std::size_t>(group.shards.front().elements);
    exact = exact.subspan(own(group) * size, size);
  }
  store_rounded(group, exact);
  for (const State& state : group.states)
    if (state.spec.averages_weights)
      tensor::copy(edit(state.place, true), std::as_bytes(exact).data(), exact.size_bytes());
  if (group.on_host) tensor::copy(group.on_host, group.parameter.memory, group.parameter.bytes);
  leave_on_device(group);
}

void ResidentState::store_rounded(Group& group, std::span<const float> exact) {
  if (placed_.graph.compute == DType::f32) {
    tensor::copy(edit(group.parameter, true), std::as_bytes(exact).data(), exact.size_bytes());
    return;
  }
  if (placed_.graph.compute == DType::f16) {
    std::ranges::transform(exact, reinterpret_cast<std::uint16_t*>(edit(group.parameter, true)),
                           round_to_f16);
    if (group.master_kind == Master::fp32)
      std::memcpy(edit(group.master, true), exact.data(), exact.size_bytes());
    return;
  }
  auto* bf16 = reinterpret_cast<std::uint16_t*>(edit(group.parameter, true));
  std::vector<std::uint16_t> unused;
  std::uint16_t* low = nullptr;
  if (group.master_kind == Master::split) {
    low = reinterpret_cast<std::uint16_t*>(edit(group.master, true));
  } else {
    unused.resize(exact.size());
    low = unused.data();
  }
  tensor::for_parts(
      static_cast<std::int64_t>(exact.size()), tensor::least_bytes / size_of(DType::f32),
      [&](std::int64_t begin, std::int64_t end) {
        optim::split_master(
            exact.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)),
            bf16 + begin, low + begin);
      });
  if (group.master_kind == Master::fp32)
    tensor::copy(edit(group.master, true), std::as_bytes(exact).data(), exact.size_bytes());
}

namespace {

// What rounds to infinity is no weight to go on from.
void require_in_fp16(std::span<const float> weights, const std::string& what) {
  for (const float x : weights)
    if (std::isfinite(x) && std::abs(x) >= 65520)
      throw UserError(ExitCode::bad_data,
                      what + " holds " + std::to_string(x) +
                          ", and fp16 ends at 65504; write bf16 or fp32 as precision.compute, or "
                          "bf16 as eval.precision");
}

// Others that are missing are named as they are read.
void require_tensor(const NamedTensors& saved, const architectures::ModelDims& dims,
                    const std::string& name, const std::string& folder) {
  if (saved.has(name)) return;
  if (const std::string meaning = architectures::meaning_of_absence(dims, name); !meaning.empty())
    throw UserError(ExitCode::bad_data, folder + ": tensor '" + name + "' is missing; " + meaning);
}

/// Of a parameter among its group's.
std::span<const float> values_of(const ParameterSpec& p, const std::vector<float>& group) {
  return std::span(group).subspan(static_cast<std::size_t>(p.offset),
                                  static_cast<std::size_t>(p.elements()));
}

}  // namespace

std::vector<float> ResidentState::Beginning::take(NamedTensors& saved,
                                                  const ParameterSpec& p) const {
  std::vector<std::int64_t> dims = p.saved_dims;
  const std::size_t along = p.may_be_absent ? 1 : 0;  // a bias that is not trained is [1, tokens]
  if (!p.by_token || dims[along] <= tokens) return saved.take(p.name, dims);
  dims[along] = tokens;
  std::vector<float> all = saved.take(p.name, dims);
  append_new_tokens(p, tokens, seed, all);
  return all;
}

void ResidentState::load_weights(const std::string& folder, const architectures::ModelDims& dims) {
  read_weights(folder, dims, {});
}

std::vector<std::string> ResidentState::start_from(const std::string& folder,
                                                   const architectures::ModelDims& dims,
                                                   std::uint64_t seed) {
  return read_weights(
      folder, dims, Beginning{seed, architectures::vocab_size(architectures::read_config(folder))});
}

std::vector<std::string> ResidentState::read_weights(const std::string& folder,
                                                     const architectures::ModelDims& dims,
                                                     std::optional<Beginning> begins) {
  std::optional<merge::MergedAdapter> adapter;
  if (is_adapter_folder(folder)) adapter.emplace(folder, dims);
  const checkpoint::WeightsFolder weights(model_folder_of(folder));
  weights.require_read(
      [&](const std::string& name) { return !architectures::parameter_name(dims, name).empty(); });
  NamedTensors saved(folder);
  const auto is_of_adapter = [&](const std::string& p) {
    return adapter && adapter->own().contains(p);
  };
  const architectures::HeadAndTable own = architectures::own_head(dims);
  const bool parts = !own.head.empty() &&
                     architectures::has_partable_head(architectures::read_config(folder));
  for (const auto& [name, tensor] : weights.tensors()) {
    const std::string parameter = architectures::parameter_name(dims, name);
    if (parameter.empty() || (parts && parameter == own.head)) continue;
    if (!is_of_adapter(parameter)) saved.add(parameter, *tensor.entry, tensor.file, name);
    if (parts && parameter == own.table && !is_of_adapter(own.head))
      saved.add(own.head, *tensor.entry, tensor.file, name);
  }
  if (adapter)
    for (const auto& [parameter, entry] : adapter->own())
      saved.add(parameter, *entry, adapter->path(), parameter);
  std::vector<std::string> kept;
  for (Group& group : groups_) {
    if (group.is_kept) {
      for (const ParameterSpec& p : group.spec->parameters) saved.pass_over(p.name);
      continue;
    }
    std::vector<float> all(static_cast<std::size_t>(group.spec->elements));
    for (const ParameterSpec& p : group.spec->parameters) {
      if (p.may_be_absent && !saved.has(p.name)) continue;
      if (p.of_adapter) {
        gather(group, exact_parts(group));
        std::vector<float> memory;
        std::ranges::copy(exact(group, p, memory), all.begin() + p.offset);
      } else if (p.optional && begins && !saved.has(p.name)) {
        gather(group, exact_parts(group));
        std::vector<float> memory;
        std::ranges::copy(exact(group, p, memory), all.begin() + p.offset);
        kept.push_back(p.name);
      } else {
        if (is_in_mxfp4(saved, p)) {
          take_mxfp4(saved, p, all.data());
          if (adapter && adapter->changes(p.name)) {
            std::vector<float> values(static_cast<std::size_t>(architectures::saved_elements(p)));
            pack_saved(p, all.data(), values);
            adapter->merge(p, values);
            unpack_saved(p, values, all.data());
          }
        } else {
          require_tensor(saved, dims, p.name, folder);
          std::vector<float> values = begins ? begins->take(saved, p)
                                             : saved.take(p.name, p.saved_dims);
          if (adapter) adapter->merge(p, values);
          unpack_saved(p, values, all.data());
        }
        if (placed_.graph.compute == DType::f16)
          require_in_fp16(values_of(p, all), folder + ": tensor '" + p.name + "'");
      }
    }
    store_exact(group, all);
  }
  store();
  saved.require_all_taken();
  require_whole_files();
  return kept;
}

void ResidentState::load_adapter(const std::string& folder, const plan::AdapterPlan& adapter) {
  const std::string path = folder + "/" + checkpoint::adapter_weights_name;
  const checkpoint::SafetensorsReader file(path);
  NamedTensors saved(path);
  for (const auto& [name, parameter] : adapter.tensors) {
    const auto at = file.tensors().find(name);
    if (at == file.tensors().end())
      throw UserError(ExitCode::bad_data, path + ": tensor '" + name + "' is missing");
    saved.add(parameter, at->second, path, name);
  }
  const std::map<std::string, std::string> base = merge::base_in_file(file, path, adapter);
  for (const auto& [parameter, name] : base)
    saved.add(parameter, file.tensors().at(name), path, name);
  for (Group& group : groups_) {
    if (std::ranges::none_of(group.spec->parameters,
                             [&](const ParameterSpec& p) { return saved.has(p.name); }))
      continue;
    if (group.is_kept) {
      for (const ParameterSpec& p : group.spec->parameters) saved.pass_over(p.name);
      continue;
    }
    gather(group, exact_parts(group));
    std::vector<float> all(static_cast<std::size_t>(group.spec->elements)), memory;
    for (const ParameterSpec& p : group.spec->parameters)
      if (saved.has(p.name)) {
        unpack_saved(p, saved.take(p.name, p.saved_dims), all.data());
        if (placed_.graph.compute == DType::f16 && base.contains(p.name))
          require_in_fp16(values_of(p, all), path + ": tensor '" + base.at(p.name) + "'");
      } else {
        std::ranges::copy(exact(group, p, memory), all.begin() + p.offset);
      }
    store_exact(group, all);
  }
  store();
  saved.require_all_taken();
  require_whole_files();
}

std::pair<ResidentState::Group&, const ParameterSpec&> ResidentState::find(
    const std::string& name) {
  for (Group& group : groups_)
    for (const ParameterSpec& p : group.spec->parameters)
      if (p.name == name) return {group, p};
  throw InternalError("no parameter is called " + name);
}

void ResidentState::replace(const std::string& name, const std::vector<float>& with) {
  const auto [group, replaced] = find(name);
  gather(group, exact_parts(group));
  std::vector<float> memory, values(static_cast<std::size_t>(group.spec->elements));
  for (const ParameterSpec& p : group.spec->parameters)
    std::ranges::copy(exact(group, p, memory), values.begin() + p.offset);
  unpack_saved(replaced, with, values.data());
  store_exact(group, values);
}

std::vector<float> ResidentState::saved_values(const std::string& name) {
  const auto [group, p] = find(name);
  ParameterSpec first = p;
  first.offset = 0;
  std::vector<float> memory, saved(static_cast<std::size_t>(architectures::saved_elements(p)));
  gather(group, exact_parts(group));
  pack_saved(first, exact(group, p, memory).data(), saved);
  return saved;
}

void ResidentState::begin_as(const std::string& to, const std::string& from) {
  replace(to, saved_values(from));
  store();
  require_whole_files();
}

void ResidentState::begin_token_rows(const std::vector<plan::AdapterPlan::Replaced>& all) {
  for (const plan::AdapterPlan::Replaced& one : all) {
    const std::vector<float> table = saved_values(one.weight);
    const std::int64_t columns = find(one.weight).second.dims.at(1);
    std::vector<float> chosen;
    for (const std::int64_t id : one.ids)
      chosen.insert(chosen.end(), table.begin() + id * columns, table.begin() + (id + 1) * columns);
    replace(one.rows, chosen);
  }
  store();
  require_whole_files();
}

void ResidentState::copy_weights(const std::vector<checkpoint::TensorSource>& from) {
  std::map<std::string_view, const checkpoint::TensorSource*> by_name;
  for (const checkpoint::TensorSource& tensor : from) by_name.emplace(tensor.name, &tensor);
  std::vector<float> all, saved;
  for (Group& group : groups_) {
    if (group.is_kept) continue;
    all.assign(static_cast<std::size_t>(group.spec->elements), 0);
    for (const ParameterSpec& p : group.spec->parameters) {
      const checkpoint::TensorSource& tensor = *by_name.at(p.name);
      saved.resize(static_cast<std::size_t>(architectures::saved_elements(p)));
      if (tensor.prepare) tensor.prepare();
      tensor.fill(std::as_writable_bytes(std::span(saved)));
      unpack_saved(p, saved, all.data());
    }
    store_exact(group, all);
  }
  store();
}

void ResidentState::begin(const State& state) {
  const auto n = static_cast<std::size_t>(state.entries);
  std::byte* const at = edit(state.place, true);
  if (state.spec.initial == 0)
    tensor::set_zero(at, state.place.bytes);
  else if (state.spec.dtype == DType::f32)
    std::fill_n(reinterpret_cast<float*>(at), n, static_cast<float>(state.spec.initial));
  else
    throw InternalError(state.spec.name + " is not fp32 and does not begin as zero");
}

}  // namespace trainx::state
