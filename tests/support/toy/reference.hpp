// The same arithmetic as loops over steps, ranks, micro-steps and blocks: no program, no placement,
// no lanes.
#pragma once
#include "support/toy/machine.hpp"
#include <cstdint>
#include <numeric>

namespace toy {

/// What a resident holds, as Buffer's fields have it.
struct Resident {
  Role role;
  int group = none, item = none;
  auto operator<=>(const Resident&) const = default;
};
inline Resident resident_of(const Buffer& b) {
  return {b.role, is_of_group(b) ? b.index : none, b.item};
}

/// Residents, and what each step reports.
struct Trained {
  std::map<Resident, Numbers> residents;
  std::vector<Report> reports;
};

struct Training {
  const ModelGraph* graph;
  UpdateSpec update;
  int micro_steps = 1, world = 1;
  bool update_reads_norm2 = true;
  Overflow overflow = {};
  bool update_in_backward = false;
  std::vector<bool> rounded_gradients = {};  // as program::Reference has them
};

inline Trained initially(const Training& t) {
  Trained s;
  auto add = [&](const Resident& what, std::size_t n) {
    Numbers& v = s.residents[what];
    for (std::size_t e = 0; e < n; ++e) v.push_back(initial(what.role, what.group, e));
  };
  for (int g = 0; g < static_cast<int>(t.graph->groups.size()); ++g) {
    const auto n = static_cast<std::size_t>(t.graph->groups[static_cast<std::size_t>(g)].elements);
    add({Role::parameter, g}, n);
    if (t.update.master != Master::absent) add({Role::master, g}, n);
    for (int item = 0; item < static_cast<int>(t.update.states.size()); ++item)
      add({Role::state, g, item}, n);
  }
  add({Role::step}, 1), add({Role::applied_steps}, 1),
      add({Role::learning_rates}, static_cast<std::size_t>(t.update.lr_table_entries));
  for (const ScalarSpec& scalar : t.graph->scalars)
    if (is_kept_scalar(scalar.role)) add({scalar.role}, 1);
  return s;
}

/// One step of `t` on `s`.
inline void train_step(const Training& t, Trained& s) {
  const ModelGraph& graph = *t.graph;
  auto resident = [&](Role role, int group = none, int item = none) -> Numbers& {
    return s.residents.at({role, group, item});
  };
  std::vector<Numbers> gradients(graph.groups.size()), sums(graph.scalars.size());
  auto add = [](Numbers& to, const Numbers& x) {
    if (to.empty())
      to = x;
    else
      for (std::size_t e = 0; e < x.size(); ++e) to[e] += x[e];
  };
  const Trained before = s;  // weights as all of the step reads them
  double norm2 = 0;
  const double* guard = t.update_reads_norm2 ? &norm2 : nullptr;
  double& applied = resident(Role::applied_steps)[0];
  const double* loss_scale = nullptr;
  for (const auto& scalar : graph.scalars)
    if (scalar.role == Role::loss_scale) loss_scale = resident(Role::loss_scale).data();
  const double scale_used = loss_scale ? *loss_scale : 0;
  auto update = [&](const std::vector<int>& groups) {
    for (const int g : groups)
      for (const double x : gradients[static_cast<std::size_t>(g)]) norm2 += norm_term(x);
    for (const int group : groups) {
      const Numbers& gradient = gradients[static_cast<std::size_t>(group)];
      const bool is_rounded = !t.rounded_gradients.empty() &&
                              t.rounded_gradients[static_cast<std::size_t>(group)];
      for (std::size_t e = 0; e < gradient.size(); ++e) {
        Element x{is_rounded ? rounded(gradient[e]) : gradient[e],
                  guard,
                  sums[1].data(),
                  loss_scale,
                  applied,
                  learning_rate(resident(Role::learning_rates), applied),
                  &resident(Role::parameter, group)[e],
                  t.update.master == Master::absent ? nullptr : &resident(Role::master, group)[e],
                  {}};
        for (int item = 0; item < static_cast<int>(t.update.states.size()); ++item)
          x.states.push_back(&resident(Role::state, group, item)[e]);
        update_element(x);
      }
    }
  };
  std::vector<int> groups(gradients.size());
  std::iota(groups.begin(), groups.end(), 0);
  // of each group, the last operation that has to do with it
  std::map<int, std::pair<Op, int>> last_use;
  const auto each_operation = [&](const auto& use) {
    const int blocks = static_cast<int>(graph.blocks.size());
    for (int b = 0; b < blocks; ++b) use(b, Op::forward);
    for (int b = 0; b < blocks; ++b) use(b, Op::loss);
    for (int b = blocks; b-- > 0;) use(b, Op::backward);
  };
  each_operation([&](int block, Op op) {
    const auto& phases = graph.blocks[static_cast<std::size_t>(block)].phases;
    if (const auto phase = phases.find(op); phase != phases.end())
      for (const SlotUse& u : phase->second.uses)
        if (const SlotSpec& x = graph.blocks[static_cast<std::size_t>(block)]
                                    .slots[static_cast<std::size_t>(u.slot)];
            x.role == Role::parameter || x.role == Role::gradient)
          last_use[x.index] = {op, block};
  });
  for (int rank = 0; rank < t.world; ++rank)
    for (int micro = 0; micro < t.micro_steps; ++micro) {
      std::map<std::string, Numbers> at;  // operands of this micro-step by name
      auto run = [&](int block, Op op) {
        const BlockSpec& spec = graph.blocks[block];
        const auto phase = spec.phases.find(op);
        if (phase == spec.phases.end()) return;
        std::vector<Numbers> slots(spec.slots.size());
        std::vector<std::size_t> sizes(spec.slots.size());
        auto key = [&](const SlotSpec& x) {
          if (x.role == Role::value || x.role == Role::value_gradient)
            return (x.role == Role::value ? "v" : "d") + std::to_string(x.index);
          return spec.name + "." + x.name;
        };
        for (const SlotUse& u : phase->second.uses) {
          const SlotSpec& x = spec.slots[u.slot];
          const auto index = static_cast<std::size_t>(x.index);
          Numbers& in = slots[u.slot];
          std::int64_t size = x.tensor.elements();
          if (x.role == Role::gradient) size = graph.groups[index].elements;
          if (x.role == Role::value || x.role == Role::value_gradient)
            size = graph.values[index].elements();
          if (is_scalar(x.role)) size = 1;
          sizes[u.slot] = static_cast<std::size_t>(size);
          if (u.how != How::read && u.how != How::modify) continue;
          if (x.role == Role::parameter)
            in = before.residents.at({Role::parameter, x.index});
          else if (is_scalar(x.role))
            in = resident(x.role);
          else if (x.role == Role::batch)
            for (std::int64_t e = 0; e < graph.batch[index].elements(); ++e)
              in.push_back(sample(t.overflow, resident(Role::step)[0], micro, rank, x.index,
                                  static_cast<std::size_t>(e)));
          else
            in = at[key(x)];
        }
        compute_block(graph, block, op, phase->second.uses, sizes, slots);
        for (const SlotUse& u : phase->second.uses) {
          if (!writes(u.how)) continue;
          const SlotSpec& x = spec.slots[u.slot];
          const Numbers& made = slots[u.slot];
          if (x.role == Role::gradient)
            add(gradients[x.index], made);
          else if (is_scalar(x.role))
            add(sums[x.index], made);
          else if (x.role == Role::value_gradient && u.how == How::accumulate)
            add(at[key(x)], made);
          else
            at[key(x)] = made;
        }
      };
      const bool last = rank + 1 == t.world && micro + 1 == t.micro_steps;
      each_operation([&](int block, Op op) {
        run(block, op);
        if (!last || !t.update_in_backward) return;
        std::vector<int> finished;
        for (const auto& [group, place] : last_use)
          if (place == std::pair(op, block)) finished.push_back(group);
        update(finished);
      });
    }
  if (!t.update_in_backward) update(groups);
  resident(Role::step)[0] = advanced(Role::step, resident(Role::step)[0], nullptr);
  applied = advanced(Role::applied_steps, applied, guard);
  for (const ScalarSpec& scalar : graph.scalars)
    if (is_kept_scalar(scalar.role))
      resident(scalar.role)[0] = advanced(scalar.role, resident(scalar.role)[0], guard);
  Report r{{ReportSlot::loss_sum, sums[0][0]},
           {ReportSlot::target_count, sums[1][0]},
           {ReportSlot::applied, applied},
           {ReportSlot::lr_table, resident(Role::learning_rates)[0]}};
  if (guard) r[ReportSlot::norm2] = norm2;
  if (loss_scale) r[ReportSlot::loss_scale] = scale_used;
  s.reports.push_back(std::move(r));
}

inline Trained train(const Training& t, int steps) {
  Trained s = initially(t);
  for (int k = 0; k < steps; ++k) train_step(t, s);
  return s;
}

inline bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

/// The first resident or report of the machine that is not bit-equal to the reference; empty when
/// there is none. NaN in a resident is never equal.
inline std::string difference(const Machine& machine, const Trained& want) {
  for (std::size_t r = 0; r < machine.ranks().size(); ++r) {
    const RankProgram& rank = machine.ranks()[r];
    for (std::size_t b = 0; b < rank.program->buffers.size(); ++b) {
      const Buffer& buffer = rank.program->buffers[b];
      if (!buffer.resident) continue;
      const auto it = want.residents.find(resident_of(buffer));
      const View have = view(rank, Use{static_cast<BufferId>(b), How::read});
      if (it == want.residents.end()) return buffer.name + " is unknown";
      for (std::size_t e = 0; e < have.size; ++e)
        if (!(have[e] == it->second[e + static_cast<std::size_t>(buffer.layout.part(
                                            rank.program->mesh, static_cast<int>(r))) *
                                            have.size]))
          return buffer.name + " on rank " + std::to_string(r) + ", element " + std::to_string(e);
    }
    const auto& reports = machine.reports[r];
    if (reports.empty()) continue;
    if (reports.size() != want.reports.size())
      return "number of reports on rank " + std::to_string(r);
    for (std::size_t s = 0; s < reports.size(); ++s)
      for (const auto& [slot, value] : want.reports[s])
        if (const auto it = reports[s].find(slot);
            it == reports[s].end() || !same(it->second, value))
          return "report of step " + std::to_string(s) + " on rank " + std::to_string(r);
  }
  return "";
}

}  // namespace toy
