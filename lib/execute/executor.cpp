#include "execute/executor.hpp"
#include "core/error.hpp"
#include "program/operations.hpp"
#include "program/shards.hpp"
#include <algorithm>

namespace trainx::execute {

using namespace program;

void set_field(data::BatchView& batch, const TensorSpec& field, std::byte* at) {
  using B = data::BatchView;
  static const std::map<std::string, std::span<std::int32_t> B::*> fields{
      {"tokens", &B::tokens},
      {"targets", &B::targets},
      {"token_types", &B::token_types},
      {"lengths", &B::lengths},
      {"labels", &B::labels},
      {"document_starts", &B::document_starts},
      {"target_tokens", &B::target_tokens}};
  const auto elements = static_cast<std::size_t>(field.elements());
  if (field.name == "positions" && field.dtype == DType::i64) {
    batch.positions = {reinterpret_cast<std::int64_t*>(at), elements};
    return;
  }
  if (field.name == "label_values" && field.dtype == DType::f32) {
    batch.label_values = {reinterpret_cast<float*>(at), elements};
    return;
  }
  const auto found = fields.find(field.name);
  if (found == fields.end()) {  // of the model's own, in the order of its declaration
    batch.fields.emplace_back(at, static_cast<std::size_t>(field.bytes()));
    return;
  }
  if (field.dtype != DType::i32) throw InternalError("no loader fills '" + field.name + "'");
  batch.*found->second = {reinterpret_cast<std::int32_t*>(at), elements};
}

namespace {

/// The shape of a slot: its own, or that of the value, batch tensor, scalar or group that it names.
std::vector<std::int64_t> operand_dims(const ModelGraph& graph, const SlotSpec& slot) {
  const auto index = static_cast<std::size_t>(slot.index);
  if (is_scalar(slot.role)) return graph.scalars[index].dims;
  switch (slot.role) {
    case Role::value:
    case Role::value_gradient: return graph.values[index].dims;
    case Role::batch: return slot.own_rows ? slot.tensor.dims : graph.batch[index].dims;
    case Role::parameter:
    case Role::gradient: return {graph.groups[index].part_elements()};
    default: return slot.tensor.dims;
  }
}

}  // namespace

std::unique_ptr<model::BlockContext> block_context(const plan::PlacedProgram& placed,
                                                   const Instruction& i, std::byte* base,
                                                   Place place, const ExecutorParts& parts) {
  const BlockSpec& block = placed.graph.blocks[static_cast<std::size_t>(i.block)];
  std::vector<Tensor> operands(block.slots.size());
  std::vector<How> how(block.slots.size(), How::read);
  const Mesh& mesh = placed.program.mesh;
  const AxisSet of_rows = block.parts.own_alone ? block.parts.rows() : AxisSet{};
  const int rows_part = mesh.place(of_rows, parts.rank);
  // a sample's number, where a rank has less than its rows
  const auto first_own = [&](const SlotSpec& slot) {
    if (!slot.own_rows) return Bytes{0};
    return rows_part * placed.graph.batch[static_cast<std::size_t>(slot.index)].elements() /
           mesh.size(of_rows) * size_of(slot.tensor.dtype);
  };
  for (const Use& u : i.uses) {
    const auto slot = static_cast<std::size_t>(u.slot);
    how[slot] = u.how;
    const Buffer& b = placed.program.buffers[static_cast<std::size_t>(u.buffer)];
    if (b.space == Space::library) {
      // the block keeps it; what dies with the instruction need not be made
      if (b.role == Role::saved) operands[slot] = make_tensor(base, DType::u8, {0}, place);
      continue;
    }
    const SlotSpec& spec = block.slots[slot];
    operands[slot] = make_tensor(
        base + placed.placement.base[static_cast<std::size_t>(u.buffer)] + first_own(spec), b.dtype,
        operand_dims(placed.graph, spec), place);
  }
  auto context = std::make_unique<model::BlockContext>(placed.graph, block, std::move(operands),
                                                       std::move(how), parts.mode, parts.seed,
                                                       1.0 / parts.nominal_targets);
  const int layer_part = mesh.place(axes::tensor, parts.rank);
  context->set_place({.layer = layer_part,
                      .rows = rows_part,
                      .heads = layer_part * mesh.context + mesh.place(axes::context, parts.rank)});
  return context;
}

std::vector<LocalGroup> own_groups(const plan::PlacedProgram& placed, int rank) {
  const std::vector<Layout> layouts = layouts_of(placed.program, placed.graph);
  std::vector<LocalGroup> out;
  for (std::size_t g = 0; g < layouts.size(); ++g)
    out.push_back(local(placed.graph.groups[g], layouts[g], placed.program.mesh, rank));
  return out;
}

namespace {

/// What an optimizer takes of a group: an element each of gradient, parameter and master, and what
/// it keeps.
std::int64_t update_operand_bytes(const plan::PlacedProgram& placed, const Instruction& i,
                                  const Use& u) {
  const Buffer& b = placed.program.buffers[static_cast<std::size_t>(u.buffer)];
  if (b.role == Role::state) return b.bytes();
  if (!is_of_group(b)) return 0;
  const std::int64_t elements = placed.graph.groups[static_cast<std::size_t>(i.group)].elements /
                                parts_of(placed.program, b);
  return elements * size_of(b.dtype);
}

}  // namespace

void count_operands(const plan::PlacedProgram& placed, const BlockContexts& contexts,
                    std::vector<std::int64_t>& bytes) {
  if (contexts.empty()) return;
  bytes.resize(placed.program.buffers.size());
  const auto count = [&](BufferId buffer, std::int64_t of_use) {
    auto& most = bytes[static_cast<std::size_t>(buffer)];
    most = std::max(most, of_use);
  };
  for (const auto& [instruction, context] : contexts)
    for (const Use& u : instruction->uses)
      if (context->has(u.slot))
        count(u.buffer, static_cast<std::int64_t>((*context)[u.slot].nbytes()));
  for (const Instruction& i : placed.program.steady)
    for (const Use& u : i.uses) {
      if (i.op == Op::fetch_batch && u.slot >= FetchSlot::first_batch)
        count(
            u.buffer,
            placed.graph.batch[static_cast<std::size_t>(u.slot - FetchSlot::first_batch)].bytes());
      if (i.op == Op::update || i.op == Op::measure || i.op == Op::balance)
        count(u.buffer, update_operand_bytes(placed, i, u));
      if (i.op == Op::copy || i.op == Op::cast || i.op == Op::add || i.op == Op::scatter ||
          i.op == Op::gather || i.op == Op::all_to_all)
        count(u.buffer, bytes_of(placed.program, u));
      if (is_scalar(placed.program.buffers[static_cast<std::size_t>(u.buffer)].role))
        count(u.buffer, bytes_of(placed.program, u));
    }
}

std::string describe(const plan::PlacedProgram& placed, const Instruction& i) {
  std::string text(name_of(i.op));
  if (is_of_parameters(i))
    text += " " + placed.graph.groups[static_cast<std::size_t>(i.group)].name;
  if (is_of_block(i)) text += " " + placed.graph.blocks[static_cast<std::size_t>(i.block)].name;
  if (i.op == Op::copy || i.op == Op::add || (i.op == Op::cast && !is_of_parameters(i)))
    text += " " +
            placed.program.buffers[static_cast<std::size_t>(use_of(i, CopySlot::to).buffer)].name;
  if (is_collective(i.op)) {
    text += " " + placed.program.buffers[static_cast<std::size_t>(i.uses.front().buffer)].name;
    const Use& last = i.op == Op::scatter || i.op == Op::gather || i.op == Op::all_to_all
                          ? use_of(i, ShardSlot::to(0))
                          : i.uses.back();
    if (i.uses.size() > 1)
      text += " to " + placed.program.buffers[static_cast<std::size_t>(last.buffer)].name;
  }
  if (i.micro > 0) text += " m" + std::to_string(i.micro);
  return text;
}

bool is_with_disk(const plan::PlacedProgram& placed, const Instruction& i) {
  return std::ranges::any_of(i.uses, [&](const Use& u) {
    return placed.program.buffers[static_cast<std::size_t>(u.buffer)].space == Space::disk;
  });
}

void require_executable(const plan::PlacedProgram& placed) {
  for (const Instruction& i : placed.program.once)
    if (i.op != Op::cast_weights && i.op != Op::copy)
      throw InternalError("once a run the executor casts weights and copies; it does no " +
                          std::string(name_of(i.op)));
  for (const Instruction& i : placed.program.steady)
    if (is_with_disk(placed, i) != (i.lane == Lane::disk) ||
        (i.lane == Lane::disk && i.op != Op::copy))
      throw InternalError(std::string(name_of(i.op)) +
                          " in another lane than the disk's, or with it");
}

}  // namespace trainx::execute
