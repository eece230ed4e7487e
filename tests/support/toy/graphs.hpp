// Small models: the operands and uses of real ones, a dozen elements each, everything fp32.
#pragma once
#include "program/plain.hpp"
#include <cstdint>
#include <initializer_list>
#include <string>

namespace toy {

using namespace trainx;
using namespace trainx::program;

constexpr std::int64_t width = 12;  // elements; 1, 2 and 3 ranks divide it

inline SlotSpec slot(std::string name, Role role, int index, std::vector<Slot> from = {},
                     bool cheap = false) {
  return {.name = std::move(name),
          .role = role,
          .index = index,
          .tensor = {"", DType::f32, {width}},
          .from = std::move(from),
          .cheap = cheap};
}

inline int add_group(ModelGraph& g, const std::string& name) {
  g.groups.push_back({name, {{name + ".weight", {width}}}, width});
  return static_cast<int>(g.groups.size()) - 1;
}
inline int add_value(ModelGraph& g, const std::string& name, std::int64_t elements = width) {
  g.values.push_back({name, DType::f32, {elements}});
  return static_cast<int>(g.values.size()) - 1;
}

inline ModelGraph empty_graph() {
  ModelGraph g;
  g.batch = {{"x", DType::f32, {width}}, {"target", DType::f32, {width}}};
  g.scalars = {scalar(Role::loss_sum), scalar(Role::target_count)};
  g.tokens = width;
  return g;
}

/// value = f(x, w)
inline BlockSpec embed(const std::string& name, int group, int value) {
  BlockSpec b{name};
  b.slots = {slot("x", Role::batch, 0), slot("w", Role::parameter, group),
             slot("out", Role::value, value, {0, 1}), slot("d_out", Role::value_gradient, value),
             slot("g", Role::gradient, group)};
  b.phases[Op::forward].uses = {{0, How::read}, {1, How::read}, {2, How::overwrite}};
  b.phases[Op::backward].uses = {{0, How::read}, {3, How::read}, {4, How::accumulate}};
  return b;
}

/// out = f(z), z = f(in.., w); saves u = f(in) and z. Reads one value, or one and the encoder's.
inline BlockSpec middle(const std::string& name, int layer, int group, int in, int out,
                        int memory = none) {
  BlockSpec b{name, layer};
  b.slots = {slot("in", Role::value, in),
             slot("w", Role::parameter, group),
             slot("out", Role::value, out, {6}),
             slot("d_in", Role::value_gradient, in),
             slot("d_out", Role::value_gradient, out),
             slot("u", Role::saved, none, {0}),
             slot("z", Role::saved, none, {0, 1}, true),
             slot("g", Role::gradient, group)};
  auto& forward = b.phases[Op::forward].uses;
  auto& backward = b.phases[Op::backward].uses;
  forward = {{0, How::read}, {1, How::read}};
  backward = {{5, How::read}, {6, How::read}, {4, How::read}, {1, How::read}, {3, How::overwrite}};
  if (memory != none) {
    b.slots.push_back(slot("memory", Role::value, memory));
    b.slots.push_back(slot("d_memory", Role::value_gradient, memory));
    b.slots[6].from.push_back(8);
    forward.push_back({8, How::read});
    backward.insert(backward.begin(), {8, How::read});
    backward.push_back({9, How::accumulate});
  }
  forward.insert(forward.end(), {{2, How::overwrite}, {5, How::overwrite}, {6, How::overwrite}});
  backward.push_back({7, How::accumulate});
  return b;
}

inline BlockSpec head(int group, int in) {
  BlockSpec b{"head"};
  b.slots = {slot("in", Role::value, in),
             slot("w", Role::parameter, group),
             slot("target", Role::batch, 1),
             slot("d_in", Role::value_gradient, in),
             slot("g", Role::gradient, group),
             slot("loss_sum", Role::loss_sum, 0),
             slot("target_count", Role::target_count, 1),
             slot("work", Role::scratch, none)};
  b.phases[Op::loss].uses = {{0, How::read},       {1, How::read},       {2, How::read},
                             {3, How::overwrite},  {4, How::accumulate}, {5, How::accumulate},
                             {6, How::accumulate}, {7, How::overwrite}};
  b.phases[Op::evaluate].uses = {{0, How::read},       {1, How::read},       {2, How::read},
                                 {5, How::accumulate}, {6, How::accumulate}, {7, How::overwrite}};
  return b;
}

/// embed, b1.., head over values h0..; `tied`: embed and head share a group.
inline ModelGraph chain(int blocks, bool tied) {
  ModelGraph g = empty_graph();
  const int first = add_group(g, tied ? "tied" : "embed");
  g.blocks.push_back(embed("embed", first, add_value(g, "h0")));
  for (int k = 1; k <= blocks; ++k) {
    const std::string n = std::to_string(k);
    g.blocks.push_back(middle("b" + n, k - 1, add_group(g, "b" + n), k - 1, add_value(g, "h" + n)));
  }
  g.blocks.push_back(head(tied ? first : add_group(g, "head"), blocks));
  return g;
}

/// A decoder whose every block reads the encoder's value.
inline ModelGraph encoder_decoder(int blocks) {
  ModelGraph g = empty_graph();
  const int memory = add_value(g, "memory");
  g.blocks.push_back(embed("encoder", add_group(g, "encoder"), memory));
  g.blocks.push_back(embed("embed", add_group(g, "embed"), add_value(g, "h0")));
  for (int k = 1; k <= blocks; ++k) {
    const std::string n = std::to_string(k);
    g.blocks.push_back(
        middle("b" + n, k - 1, add_group(g, "b" + n), k, add_value(g, "h" + n), memory));
  }
  g.blocks.push_back(head(add_group(g, "head"), blocks + 1));
  return g;
}

/// Layers of an attention and an MLP block over (residual, branch), as transformers have them: a
/// block begins with residual + branch. The first reads a residual without a branch.
inline ModelGraph pairs(int layers) {
  ModelGraph g = empty_graph();
  const int tied = add_group(g, "tied");
  g.blocks.push_back(embed("embed", tied, add_value(g, "r0")));
  int residual = 0, branch = none;
  for (int k = 0; k < 2 * layers; ++k) {
    const std::string n = std::to_string(k);
    const std::string name = "l" + std::to_string(k / 2) + (k % 2 ? ".mlp" : ".att");
    const int group = add_group(g, name);
    BlockSpec b{name, k / 2};
    const int residual_out = branch == none ? residual : add_value(g, "r" + n),
              branch_out = add_value(g, "a" + n);
    enum : Slot {
      in,
      branch_in,
      w,
      out,
      normed,
      z,
      a,
      d_in,
      d_branch_in,
      d_out,
      d_a,
      gradient,
      work
    };
    b.slots = {slot("in", Role::value, residual),
               slot("branch_in", Role::value, branch),
               slot("w", Role::parameter, group),
               slot("out", Role::value, residual_out, {in, branch_in, w}),
               slot("normed", Role::saved, none, {out, w}, true),
               slot("z", Role::saved, none, {normed, w}),
               slot("a", Role::value, branch_out, {work, w}),
               slot("d_in", Role::value_gradient, residual),
               slot("d_branch_in", Role::value_gradient, branch),
               slot("d_out", Role::value_gradient, residual_out),
               slot("d_a", Role::value_gradient, branch_out),
               slot("g", Role::gradient, group),
               slot("work", Role::scratch, none, {z})};
    auto& forward = b.phases[Op::forward].uses;
    auto& backward = b.phases[Op::backward].uses;
    if (branch == none) {
      forward = {{out, How::read}, {w, How::read}};
      backward = {{out, How::read}, {normed, How::read}, {z, How::read},
                  {w, How::read},   {d_a, How::read},    {d_out, How::modify}};
    } else {
      forward = {{in, How::read}, {branch_in, How::read}, {w, How::read}, {out, How::overwrite}};
      backward = {{out, How::read},       {normed, How::read},          {z, How::read},
                  {w, How::read},         {d_out, How::read},           {d_a, How::read},
                  {d_in, How::overwrite}, {d_branch_in, How::overwrite}};
    }
    forward.insert(forward.end(), {{normed, How::overwrite},
                                   {z, How::overwrite},
                                   {a, How::overwrite},
                                   {work, How::overwrite}});
    backward.push_back({gradient, How::accumulate});
    g.blocks.push_back(std::move(b));
    residual = residual_out, branch = branch_out;
  }
  BlockSpec b{"head"};
  b.slots = {slot("r", Role::value, residual),
             slot("a", Role::value, branch),
             slot("w", Role::parameter, tied),
             slot("target", Role::batch, 1),
             slot("d_r", Role::value_gradient, residual),
             slot("d_a", Role::value_gradient, branch),
             slot("g", Role::gradient, tied),
             slot("loss_sum", Role::loss_sum, 0),
             slot("target_count", Role::target_count, 1)};
  b.phases[Op::loss].uses = {{0, How::read},       {1, How::read},       {2, How::read},
                             {3, How::read},       {4, How::overwrite},  {5, How::overwrite},
                             {6, How::accumulate}, {7, How::accumulate}, {8, How::accumulate}};
  b.phases[Op::evaluate].uses = {{0, How::read}, {1, How::read},       {2, How::read},
                                 {3, How::read}, {7, How::accumulate}, {8, How::accumulate}};
  g.blocks.push_back(std::move(b));
  return g;
}

/// embed, b1, and a loss of its own over the output y: what single-owner data parallelism can cut
/// between output and loss.
inline ModelGraph unfused() {
  ModelGraph g = empty_graph();
  g.blocks.push_back(embed("embed", add_group(g, "embed"), add_value(g, "h0")));
  g.blocks.push_back(middle("b1", 0, add_group(g, "b1"), 0, add_value(g, "y")));
  BlockSpec b{"criterion"};
  b.slots = {slot("y", Role::value, 1), slot("target", Role::batch, 1),
             slot("d_y", Role::value_gradient, 1), slot("loss_sum", Role::loss_sum, 0),
             slot("target_count", Role::target_count, 1)};
  b.phases[Op::loss].uses = {{0, How::read},
                             {1, How::read},
                             {2, How::overwrite},
                             {3, How::accumulate},
                             {4, How::accumulate}};
  g.blocks.push_back(std::move(b));
  return g;
}

/// The last block also reads a loss scale that lives from step to step.
inline ModelGraph with_loss_scale(ModelGraph g) {
  g.scalars.push_back({{"loss_scale", DType::f64, {1}}, Role::loss_scale});
  BlockSpec& last = g.blocks.back();
  last.slots.push_back(
      slot("loss_scale", Role::loss_scale, static_cast<int>(g.scalars.size()) - 1));
  auto& uses = last.phases[Op::loss].uses;
  uses.insert(uses.begin() + 1, {static_cast<Slot>(last.slots.size()) - 1, How::read});
  return g;
}

inline UpdateSpec momentum() { return {{{"m"}}, Master::absent, 4}; }
/// As LAMB has them: sums, and states of elements alone. As Adafactor: sums twice, and a state of
/// tensors.
inline UpdateSpec over_tensors(bool with_state_of_tensors) {
  const auto two = [](const ParameterSpec&) { return std::int64_t{2}; };
  UpdateSpec update{{{"m"}}, Master::fp32, 4, Unit::tensor, {two}};
  if (!with_state_of_tensors) return update;
  update.states.push_back(
      {"row", DType::f32, 0, [](const ParameterSpec&) { return std::vector<std::int64_t>{3}; }});
  update.sums.push_back([](const ParameterSpec&) { return std::int64_t{1}; });
  return update;
}
/// With an average of the weights.
inline UpdateSpec averaging() {
  UpdateSpec update = momentum();
  update.states.push_back({.name = "ema", .averages_weights = true});
  return update;
}

}  // namespace toy
