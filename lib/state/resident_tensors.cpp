// ResidentState's tensors as they are saved: whole, whichever ranks hold their parts.
#include "checkpoint/weights_folder.hpp"
#include "core/error.hpp"
#include "core/mapped_region.hpp"
#include "core/half.hpp"
#include "optim/optimizer.hpp"
#include "architectures/saved_layout.hpp"
#include "tensor/large_memory.hpp"
#include "state/byte_states.hpp"
#include "state/saved_layout_io.hpp"
#include "state/named_tensors.hpp"
#include "state/resident_state.hpp"
#include <algorithm>
#include <cstring>

namespace trainx::state {

using program::GroupSpec, program::Master, program::ParameterSpec;

namespace {

bool in_folder_layout(const program::StateSpec& state, const ParameterSpec& p) {
  return (state.dtype == DType::f32 || state.dtype == DType::bf16) &&
         (!state.dims || state.dims(p) == p.dims);
}
std::vector<std::int64_t> dims_of(const program::StateSpec& state, const ParameterSpec& p) {
  return state.dims ? state.dims(p) : p.dims;
}

/// 0: nothing is kept of this tensor.
std::size_t state_bytes(const program::StateSpec& state, const ParameterSpec& p) {
  const program::TensorSpec kept{"", state.dtype, dims_of(state, p)};
  return kept.dims.empty() ? 0 : static_cast<std::size_t>(kept.bytes());
}

ParameterSpec at_zero(ParameterSpec p) {
  p.offset = 0;
  return p;
}

/// `out`: aligned as float, which buffers of tensors are.
void fill_saved(const ParameterSpec& p, const float* elements, std::span<std::byte> out) {
  pack_saved(p, elements, {reinterpret_cast<float*>(out.data()), out.size() / sizeof(float)});
}

/// Elements of f32 or bf16 as the parameter has them. What padding had begins anew.
std::vector<std::byte> from_folder_layout(const ParameterSpec& p, const std::vector<float>& saved,
                                          const program::StateSpec& state) {
  std::vector<float> elements(static_cast<std::size_t>(p.elements()));
  unpack_saved(at_zero(p), saved, elements.data());
  std::vector<std::byte> out(elements.size() * static_cast<std::size_t>(size_of(state.dtype)));
  if (state.dtype == DType::f32)
    std::memcpy(out.data(), elements.data(), out.size());
  else
    std::transform(elements.begin(), elements.end(), reinterpret_cast<std::uint16_t*>(out.data()),
                   round_to_bf16);
  return out;
}

void fill_from_folder_layout(const ParameterSpec& p, const std::byte* at, DType dtype,
                             std::span<std::byte> out) {
  if (dtype == DType::f32) return fill_saved(at_zero(p), reinterpret_cast<const float*>(at), out);
  const auto* bf16 = reinterpret_cast<const std::uint16_t*>(at);
  std::vector<float> elements(static_cast<std::size_t>(p.elements())),
      saved(static_cast<std::size_t>(architectures::saved_elements(p)));
  std::transform(bf16, bf16 + elements.size(), elements.begin(), widen_bf16);
  pack_saved(at_zero(p), elements.data(), saved);
  std::transform(saved.begin(), saved.end(), reinterpret_cast<std::uint16_t*>(out.data()),
                 round_to_bf16);
}

/// Where some of a tensor's state lies.
struct StatePart {
  std::size_t shard = 0, place = 0;    // of the tensor's part in the shard
  std::size_t before = 0, within = 0;  // bytes of the tensor's state, and of its part's, before it
  std::size_t bytes = 0;
};

/// Of bytes: the elements that they are of are known by these numbers (byte_states.hpp), where the
/// tensor is in parts.
std::string parts_name(const program::StateSpec& scales, const ParameterSpec& p) {
  return scales.name + "_parts." + p.name;
}

/// Has each part of the group some of the tensor?
bool is_in_parts(const GroupSpec& group, const ParameterSpec& p) {
  return group.parts.are_several() && p.part == program::none;
}

/// As they are saved: scales of a tensor in parts are [parts, blocks of each].
std::vector<std::int64_t> saved_dims_of(const program::StateSpec& state, const GroupSpec& group,
                                        const ParameterSpec& p) {
  const std::vector<std::int64_t> dims = dims_of(state, p);
  if (state.scales == program::ByteCodes::absent || dims.empty() || !is_in_parts(group, p))
    return dims;
  return {group.parts.count, blocks_of_parts(group, p).front().blocks()};
}

/// Without what pads a vocabulary.
std::vector<std::int64_t> real_dims(const ParameterSpec& p) {
  std::vector<std::int64_t> dims = p.dims;
  dims.front() = p.tensor_elements() / (p.elements() / dims.front());
  return dims;
}

/// Calls use(StatePart) for what each shard holds of the tensor, in the order of its elements, or
/// rows of columns after one another; of scales, part after part.
template <class Use>
void for_each_part(const std::vector<GroupSpec>& shards, const ParameterSpec& tensor,
                   const program::StateSpec& state, const Use& use) {
  struct Found {
    program::Slice slice;
    std::size_t shard = 0, place = 0;
  };
  std::vector<Found> parts;
  for (std::size_t r = 0; r < shards.size(); ++r)
    for (std::size_t k = 0; k < shards[r].parameters.size(); ++k)
      if (shards[r].parameters[k].name == tensor.name)
        parts.push_back({shards[r].parameters[k].slice, r, k});
  std::ranges::stable_sort(parts, {}, [](const Found& f) {
    return f.slice.runs.empty() ? f.slice.first : f.slice.runs.front().first;
  });
  std::size_t before = 0;
  for (const Found& part : parts) {
    const ParameterSpec& p = shards[part.shard].parameters[part.place];
    const std::size_t bytes = state_bytes(state, p);
    if (part.slice.is_contiguous() || state.scales != program::ByteCodes::absent) {
      use(StatePart{part.shard, part.place, before, 0, bytes});
      before += bytes;
      continue;
    }
    const auto each = static_cast<std::size_t>(size_of(state.dtype));
    if (bytes != each * static_cast<std::size_t>(p.elements()))
      throw InternalError(tensor.name +
                          ": a state of other entries than elements is cut by columns");
    part.slice.for_each_run(
        p.elements(), [&](std::int64_t of_tensor, std::int64_t of_part, std::int64_t count) {
          use(StatePart{part.shard, part.place, static_cast<std::size_t>(of_tensor) * each,
                        static_cast<std::size_t>(of_part) * each,
                        static_cast<std::size_t>(count) * each});
        });
  }
}

}  // namespace

/// All ranks' bytes of what is wanted, after one another; of a pipeline those of the first stage
/// that keeps it. What was gathered before and is not wanted goes. All ranks call it in the same
/// order.
void ResidentState::gather(const Group& group, const std::vector<Place>& wanted,
                           bool in_shards) const {
  if (!gathers_to_load()) return;
  std::erase_if(gathered_, [&](const auto& g) { return !std::ranges::count(wanted, g.first); });
  for (const Place& mine : wanted) {
    const bool is_cut = in_shards && !group.layout.is_whole();
    if (!is_cut && !staged_) continue;
    const auto [it, is_new] = gathered_.try_emplace(mine);
    if (!is_new) continue;
    it->second.resize(mine.bytes * (is_cut ? group.shards.size() : 1));
    const bool is_first = !staged_ || placed_.program.mesh.stage_of(ranks_.rank()) == group.stage;
    if (is_first && is_cut)
      ranks_.communicator(group.layout.along())
          ->all_gather(read(mine), it->second.data(), static_cast<std::int64_t>(mine.bytes));
    else if (is_first)
      tensor::copy(it->second.data(), read(mine), mine.bytes);
    if (staged_)
      ranks_.communicator(program::axes::stage)
          ->broadcast(it->second.data(), static_cast<std::int64_t>(it->second.size()), group.stage);
  }
}

const std::byte* ResidentState::whole(const Group& group, const Place& mine) const {
  if (group.layout.is_whole() && !staged_) return read(mine);
  const auto found = gathered_.find(mine);
  if (found == gathered_.end())
    throw InternalError("a tensor is read of which the ranks have not gathered the parts");
  return found->second.data();
}

/// What exact weights follow from.
std::vector<ResidentState::Place> ResidentState::exact_parts(const Group& group) const {
  std::vector<Place> out;
  if (group.master_kind != Master::fp32) out.push_back(group.parameter);
  if (group.master_kind != Master::absent) out.push_back(group.master);
  return out;
}

std::span<const float> ResidentState::exact(const Group& group, const ParameterSpec& parameter,
                                            std::vector<float>& memory) const {
  const auto n = static_cast<std::size_t>(parameter.elements());
  if (memory.size() < n) memory.resize(n);
  const std::span<float> out(memory.data(), n);
  if (!group.spec->parts.are_several()) return exact_elements(group, parameter.offset, out);
  for (std::size_t r = 0; r < group.shards.size(); ++r)
    for (const ParameterSpec& p : group.shards[r].parameters)
      if (p.name == parameter.name)
        p.slice.for_each_run(
            p.elements(), [&](std::int64_t to, std::int64_t from, std::int64_t count) {
              exact_elements(
                  group, static_cast<std::int64_t>(r) * group.shards[r].elements + p.offset + from,
                  out.subspan(static_cast<std::size_t>(to), static_cast<std::size_t>(count)));
            });
  return out;
}

/// `first`: in the group's buffer, or in those of all ranks after one another. Returns `out`.
std::span<const float> ResidentState::exact_elements(const Group& group, std::int64_t first,
                                                     std::span<float> out) const {
  const auto offset = static_cast<std::size_t>(first);
  const auto in_parts = [&](const auto& work) {  // work(first element, how many)
    tensor::for_parts(
        static_cast<std::int64_t>(out.size()), tensor::least_bytes / size_of(DType::f32),
        [&](std::int64_t begin, std::int64_t end) {
          work(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
        });
  };
  // nothing is kept of what rounding took
  const bool rounded = group.master_kind == Master::absent && placed_.graph.compute != DType::f32;
  if (rounded) {
    const auto* bits = reinterpret_cast<const std::uint16_t*>(whole(group, group.parameter)) +
                       offset;
    const auto widen = placed_.graph.compute == DType::bf16 ? widen_bf16 : widen_f16;
    in_parts([&](std::size_t k, std::size_t count) {
      std::transform(bits + k, bits + k + count, out.begin() + static_cast<std::ptrdiff_t>(k),
                     widen);
    });
  } else if (group.master_kind == Master::split) {
    const auto* bf16 = reinterpret_cast<const std::uint16_t*>(whole(group, group.parameter)) +
                       offset;
    const auto* low = reinterpret_cast<const std::uint16_t*>(whole(group, group.master)) + offset;
    in_parts([&](std::size_t k, std::size_t count) {
      optim::join_master({bf16 + k, count}, low + k, out.data() + k);
    });
  } else {
    const std::byte* from =
        whole(group, group.master_kind == Master::fp32 ? group.master : group.parameter);
    tensor::copy(reinterpret_cast<std::byte*>(out.data()), from + offset * sizeof(float),
                 out.size_bytes());
  }
  return out;
}

namespace {

/// In the shard's buffer of that state.
template <class State>
std::size_t begin_of(const State& state, const StatePart& part) {
  return static_cast<std::size_t>(state.layouts[part.shard].offsets[part.place] *
                                  size_of(state.spec.dtype)) +
         part.within;
}

}  // namespace

/// The groups that the state belongs to: shards, or whole ones.
const std::vector<GroupSpec>& ResidentState::shards_of(const Group& group,
                                                       const State& state) const {
  return state.in_shards ? group.shards : group.whole;
}

/// Of a tensor's state, what lies here.
void ResidentState::store_entries(const Group& group, const State& state, std::size_t parameter,
                                  std::span<const std::byte> entries) {
  if (!group.is_here) return;
  for_each_part(shards_of(group, state), group.spec->parameters[parameter], state.spec,
                [&](const StatePart& part) {
                  if (part.shard == (state.in_shards ? own(group) : 0) && part.bytes > 0)
                    std::memcpy(edit(state.place) + begin_of(state, part),
                                entries.data() + part.before, part.bytes);
                });
}

/// Where they lie, if together; else in `memory`.
std::span<const std::byte> ResidentState::entries_of(const Group& group, const State& state,
                                                     std::size_t parameter,
                                                     std::vector<std::byte>& memory) const {
  const ParameterSpec& p = group.spec->parameters[parameter];
  const std::byte* const from = state.in_shards || staged_ ? whole(group, state.place)
                                                           : read(state.place);
  const program::TensorSpec saved{"", state.spec.dtype, saved_dims_of(state.spec, *group.spec, p)};
  const auto all = static_cast<std::size_t>(saved.bytes());
  std::span<const std::byte> out;
  for_each_part(shards_of(group, state), p, state.spec, [&](const StatePart& part) {
    if (part.bytes == 0) return;
    const std::byte* const at = from + part.shard * state.place.bytes + begin_of(state, part);
    if (part.bytes == all) {
      out = {at, part.bytes};
      return;
    }
    if (memory.size() < all) memory.resize(all);
    std::memcpy(memory.data() + part.before, at, part.bytes);
    out = {memory.data(), all};
  });
  return out;
}

void ResidentState::load_entries(const Group& group, const State& state, std::size_t parameter,
                                 NamedTensors& saved) {
  const ParameterSpec& p = group.spec->parameters[parameter];
  if (state_bytes(state.spec, p) == 0) return;
  const std::string name = state.spec.name + "." + p.name;
  if (in_folder_layout(state.spec, p))
    store_entries(group, state, parameter,
                  from_folder_layout(p, saved.take(name, p.saved_dims), state.spec));
  else
    store_entries(group, state, parameter,
                  saved.take_bytes(name, dims_of(state.spec, p), state.spec.dtype));
}

/// Bytes and their scales, whichever parts of the tensor those were of.
void ResidentState::load_bytes(const Group& group, const State& codes, const State& scales,
                               std::size_t parameter, NamedTensors& saved) {
  const ParameterSpec& p = group.spec->parameters[parameter];
  if (state_bytes(codes.spec, p) == 0) return;
  const std::string name = codes.spec.name + "." + p.name,
                    of_scales = scales.spec.name + "." + p.name,
                    of_parts = parts_name(scales.spec, p);
  const checkpoint::TensorEntry& bytes = saved.take_padded(name, real_dims(p), codes.spec.dtype);
  SavedBytes all{.codes = bytes.data, .scales = {}, .parts = {}};
  const auto elements = static_cast<std::int64_t>(bytes.data.size());
  std::vector<std::int64_t> scales_dims;
  if (saved.has(of_parts)) {
    const checkpoint::TensorEntry& parts = saved.take_entry(of_parts, DType::i64);
    std::vector<std::int64_t> numbers(parts.data.size() / sizeof(std::int64_t));
    std::memcpy(numbers.data(), parts.data.data(), parts.data.size());
    all.parts = parts_of_numbers(numbers, parts.dims.empty() ? 0 : parts.dims.front(), elements,
                                 saved.where() + ": tensor '" + of_parts + "'");
    scales_dims = {static_cast<std::int64_t>(all.parts.size()), all.parts.front().blocks()};
  } else {
    all.parts = {{{}, elements}};
    scales_dims = {all.parts.front().blocks()};
  }
  const std::span<const std::byte> of_blocks =
      saved.take_bytes(of_scales, scales_dims, scales.spec.dtype);
  std::vector<float> values(of_blocks.size() / sizeof(float));
  std::memcpy(values.data(), of_blocks.data(), of_blocks.size());
  all.scales = values;
  if (!group.is_here) return;
  const std::vector<GroupSpec>& shards = shards_of(group, codes);
  const std::size_t here = codes.in_shards ? own(group) : 0;
  for (std::size_t k = 0; k < shards[here].parameters.size(); ++k) {
    const ParameterSpec& part = shards[here].parameters[k];
    if (part.name != p.name) continue;
    const OwnBytes mine =
        bytes_of(all, scales.spec.scales, {part.slice, part.elements()}, p.tensor_elements());
    const auto copy_to = [&](const State& state, const auto& from) {
      tensor::copy(edit(state.place) + begin_of(state, {.shard = here, .place = k}),
                   std::as_bytes(std::span(from)).data(), from.size() * sizeof(from[0]));
    };
    copy_to(codes, mine.codes);
    copy_to(scales, mine.scales);
  }
}

void ResidentState::load_states(const std::string& folder) {
  states_written_ = true;
  const checkpoint::WeightsFolder files(folder, "optimizer");
  NamedTensors saved(folder);
  for (const auto& [name, tensor] : files.tensors()) saved.add(name, *tensor.entry, tensor.file);
  for (Group& group : groups_) {
    for (const State& state : group.states)
      if (group.is_here) begin(state);
    for (std::size_t s = 0; s < group.states.size(); ++s) {
      const State& state = group.states[s];
      const bool is_of_bytes = s + 1 < group.states.size() &&
                               group.states[s + 1].spec.scales != program::ByteCodes::absent;
      for (std::size_t k = 0; k < group.spec->parameters.size(); ++k)
        if (is_of_bytes)
          load_bytes(group, state, group.states[s + 1], k, saved);
        else
          load_entries(group, state, k, saved);
      s += is_of_bytes;
    }
  }
  store();
  saved.require_all_taken();
  require_whole_files();
}

std::vector<checkpoint::TensorSource> ResidentState::weights() const {
  forget_windows();
  std::vector<checkpoint::TensorSource> out;
  // of one tensor after the other: new pages for each would take as long as all else
  const auto memory = std::make_shared<std::vector<float>>();
  for (const Group& group : groups_)
    for (const ParameterSpec& p : group.spec->parameters)
      out.push_back({p.name, DType::f32, p.saved_dims,
                     [this, &group, &p, memory](std::span<std::byte> bytes) {
                       fill_saved(at_zero(p), exact(group, p, *memory).data(), bytes);
                     },
                     [this, &group] { gather(group, exact_parts(group)); }});
  return out;
}

std::vector<checkpoint::TensorSource> ResidentState::states() const {
  forget_windows();
  std::vector<checkpoint::TensorSource> out;
  const auto memory = std::make_shared<std::vector<std::byte>>();
  for (const Group& group : groups_)
    for (const State& state : group.states)
      for (std::size_t k = 0; k < group.spec->parameters.size(); ++k) {
        const ParameterSpec& p = group.spec->parameters[k];
        if (state_bytes(state.spec, p) == 0) continue;
        const bool folder = in_folder_layout(state.spec, p);
        const auto fill = [this, &group, &state, k, folder, &p,
                           memory](std::span<std::byte> bytes) {
          const std::span<const std::byte> entries = entries_of(group, state, k, *memory);
          if (folder)
            fill_from_folder_layout(p, entries.data(), state.spec.dtype, bytes);
          else
            tensor::copy(bytes.data(), entries.data(), bytes.size());
        };
        if (state.spec.scales != program::ByteCodes::absent && is_in_parts(*group.spec, p)) {
          const auto parts = blocks_of_parts(*group.spec, p);
          const std::vector<std::int64_t> numbers = numbers_of(parts);
          const std::int64_t rows = std::ssize(parts);
          out.push_back({parts_name(state.spec, p),
                         DType::i64,
                         {rows, std::ssize(numbers) / rows},
                         [numbers](std::span<std::byte> bytes) {
                           std::memcpy(bytes.data(), numbers.data(), bytes.size());
                         },
                         {}});
        }
        out.push_back({state.spec.name + "." + p.name, state.spec.dtype,
                       folder ? p.saved_dims : saved_dims_of(state.spec, *group.spec, p), fill,
                       [this, &group, &state] {
                         gather(group,
                                state.in_shards || staged_ ? std::vector<Place>{state.place}
                                                           : std::vector<Place>{},
                                state.in_shards);
                       }});
      }
  return out;
}

}  // namespace trainx::state
