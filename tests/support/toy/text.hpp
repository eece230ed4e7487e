// Programs written by hand as the text that print() makes of them.
// Names of buffers: as plain_program's, and with endings: ^ a second one of the same, ' on the
// host, / this rank's shard, + fetched ahead, (r) of rank r.
#pragma once
#include "support/toy/graphs.hpp"
#include "core/error.hpp"
#include "program/operations.hpp"
#include <algorithm>
#include <map>
#include <sstream>

namespace toy {

/// Lines with single spaces.
inline std::string squeezed(const std::string& text) {
  std::string out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string joined;
    for (std::string w; words >> w;) joined += (joined.empty() ? "" : " ") + w;
    if (!joined.empty()) out += joined + "\n";
  }
  return out;
}

class TextProgram {
 public:
  TextProgram(const ModelGraph& graph, const UpdateSpec& update, int world)
      : graph_(graph), update_(update) {
    p_.mesh.world = p_.mesh.shard = world;
  }

  StepProgram parse(const std::string& text) {
    sharded_text_ = text;
    std::istringstream in(text);
    std::vector<Instruction>* list = &p_.steady;
    for (std::string line; std::getline(in, line);) {
      if (line.find_first_not_of(' ') == std::string::npos) continue;
      if (line == "once:")
        list = &p_.once;
      else if (line == "steady:")
        list = &p_.steady;
      else
        list->push_back(instruction(line));
    }
    return p_;
  }

 private:
  static std::string base_of(std::string name) {
    while (!name.empty() &&
           (std::string("^'/+").find(name.back()) != std::string::npos || name.back() == ')')) {
      if (name.back() == ')')
        name = name.substr(0, name.find('('));
      else
        name.pop_back();
    }
    return name;
  }
  bool ends(const std::string& name, char c) const {
    return name.substr(base_of(name).size()).find(c) != std::string::npos;
  }

  int group_named(const std::string& name) const {
    for (std::size_t g = 0; g < graph_.groups.size(); ++g)
      if (graph_.groups[g].name == name) return static_cast<int>(g);
    return none;
  }
  int state_named(const std::string& name) const {
    for (std::size_t s = 0; s < update_.states.size(); ++s)
      if (update_.states[s].name == name) return static_cast<int>(s);
    return none;
  }

  /// What plan_program would say of a buffer of that name.
  Buffer describe(const std::string& name, int micro) {
    const std::string base = base_of(name);
    const auto dot = base.find('.');
    const std::string head = base.substr(0, dot),
                      tail = dot == std::string::npos ? "" : base.substr(dot + 1);
    Buffer b{name};
    b.space = ends(name, '\'') ? Space::host : Space::device;
    if (ends(name, '/')) b.layout = Layout().cut(axes::shard);
    const int group = group_named(tail);
    if (group != none &&
        (head == "w" || head == "g" || head == "master" || state_named(head) != none)) {
      b.role = head == "w"        ? Role::parameter
               : head == "g"      ? Role::gradient
               : head == "master" ? Role::master
                                  : Role::state;
      b.index = group;
      if (b.role == Role::state) b.item = state_named(head);
      b.elements = graph_.groups[group].elements / parts_of(p_, b);
      b.resident = head != "g" && !ends(name, '(') &&
                   (b.is_cut() || sharded_text_.find(" " + name + "/") == std::string::npos);
      return b;
    }
    if (base == "step" || base == "applied" || base == "norm2" || base == "lr_table") {
      b.role = base == "step"      ? Role::step
               : base == "applied" ? Role::applied_steps
               : base == "norm2"   ? Role::squared_norm
                                   : Role::learning_rates;
      b.dtype = base == "step" || base == "applied" ? DType::i64 : DType::f64;
      b.elements = base == "lr_table" ? update_.lr_table_entries : 1;
      b.resident = base != "norm2" && !ends(name, '(');
      return b;
    }
    for (std::size_t k = 0; k < graph_.scalars.size(); ++k)
      if (graph_.scalars[k].name == base)
        return b.role = graph_.scalars[k].role, b.index = static_cast<int>(k), b.dtype = DType::f64,
               b.elements = 1, b.resident = is_kept_scalar(b.role), b;
    b.micro = micro;
    for (std::size_t k = 0; k < graph_.batch.size(); ++k)
      if (graph_.batch[k].name == base)
        return b.role = Role::batch, b.index = static_cast<int>(k),
               b.elements = graph_.batch[k].elements(), b;
    for (std::size_t k = 0; k < graph_.values.size(); ++k)
      for (const bool gradient : {false, true})
        if ((gradient ? "d" : "") + graph_.values[k].name == base) {
          b.role = gradient ? Role::value_gradient : Role::value;
          b.index = static_cast<int>(k);
          b.elements = graph_.values[k].elements();
          return b;
        }
    for (std::size_t k = 0; k < graph_.blocks.size(); ++k)
      for (const SlotSpec& s : graph_.blocks[k].slots)
        if (s.role == Role::saved && graph_.blocks[k].name + "." + s.name == base)
          return b.role = Role::saved, b.index = static_cast<int>(k),
                 b.elements = s.tensor.elements(), b;
    throw InternalError("no buffer can be called '" + name + "'");
  }

  BufferId buffer(const std::string& name, int micro) {
    const Buffer like = describe(name, micro);
    const auto [it, is_new] = ids_.try_emplace({name, like.micro}, none);
    if (is_new) it->second = add_buffer(p_, like);
    return it->second;
  }

  Slot slot_of(const Instruction& i, const Buffer& b, How how) const {
    const std::string base = base_of(b.name), head = base.substr(0, base.find('.'));
    auto one_of = [&](std::initializer_list<std::pair<const char*, Slot>> names) {
      for (const auto& [name, slot] : names)
        if (base == name) return slot;
      return none;
    };
    switch (i.op) {
      case Op::fetch_batch:
        for (std::size_t k = 0; k < graph_.batch.size(); ++k)
          if (graph_.batch[k].name == base) return FetchSlot::first_batch + static_cast<Slot>(k);
        return FetchSlot::step;
      case Op::copy:
      case Op::scatter:
      case Op::gather:
      case Op::send:
      case Op::recv: return how == How::read ? CopySlot::from : CopySlot::to;
      case Op::reduce: return 0;
      case Op::grad_norm:
        return how == How::read ? NormSlot::first_gradient + b.index : NormSlot::norm2;
      case Op::update:
        if (state_named(head) != none) return UpdateSlot::first_state + state_named(head);
        if (b.role == Role::gradient) return UpdateSlot::gradient;
        if (b.role == Role::parameter) return UpdateSlot::parameter;
        if (b.role == Role::master) return UpdateSlot::master;
        return one_of({{"norm2", UpdateSlot::norm2},
                       {"target_count", UpdateSlot::target_count},
                       {"applied", UpdateSlot::applied},
                       {"lr_table", UpdateSlot::lr_table},
                       {"loss_scale", UpdateSlot::loss_scale}});
      case Op::advance_step:
      case Op::advance_applied:
        return how == How::read       ? AdvanceSlot::norm2
               : base == "loss_scale" ? AdvanceSlot::loss_scale
                                      : AdvanceSlot::counter;
      case Op::report:
        return one_of({{"loss_sum", ReportSlot::loss_sum},
                       {"target_count", ReportSlot::target_count},
                       {"norm2", ReportSlot::norm2},
                       {"applied", ReportSlot::applied},
                       {"lr_table", ReportSlot::lr_table},
                       {"loss_scale", ReportSlot::loss_scale}});
      default: break;
    }
    const BlockSpec& block = graph_.blocks[i.block];
    for (std::size_t s = 0; s < block.slots.size(); ++s) {
      const SlotSpec& x = block.slots[s];
      if (x.role != b.role) continue;
      if (x.role == Role::saved ? block.name + "." + x.name == base : x.index == b.index)
        return static_cast<Slot>(s);
    }
    throw InternalError("block " + block.name + " has no slot for " + b.name);
  }

  Instruction instruction(const std::string& line) {
    std::istringstream in(line);
    std::vector<std::string> tokens;
    for (std::string t; in >> t;) tokens.push_back(t);
    std::size_t at = 0;
    Instruction i;
    if (tokens[0][0] == 'm' && tokens[0].size() > 1 && std::isdigit(tokens[0][1]))
      i.micro = std::stoi(tokens[at++].substr(1));
    std::string op = tokens.at(at++);
    if (const auto paren = op.find('('); paren != std::string::npos)
      i.peer = std::stoi(op.substr(paren + 1)), op = op.substr(0, paren);
    for (int k = 0; k <= static_cast<int>(Op::report); ++k)
      if (name_of(static_cast<Op>(k)) == op) i.op = static_cast<Op>(k);
    if (op != name_of(i.op)) throw InternalError("no operation is called '" + op + "'");
    if (i.op == Op::update) i.group = group_named(tokens.at(at++));
    for (std::size_t k = 0; k < graph_.blocks.size() && i.block == none && i.group == none; ++k)
      if (at < tokens.size() && graph_.blocks[k].name == tokens[at])
        i.block = static_cast<int>(k), ++at;
    for (int l = 0; l < lane_count && at < tokens.size(); ++l)
      if (tokens[at] == "@" + std::string(name_of(static_cast<Lane>(l))))
        i.lane = static_cast<Lane>(l), ++at;
    How how = How::read;
    for (; at < tokens.size(); ++at) {
      const std::string& t = tokens[at];
      if (t == ">")
        how = How::overwrite;
      else if (t == "+")
        how = How::accumulate;
      else if (t == "~")
        how = How::modify;
      else if (t != "=") {
        Use u{buffer(t, i.micro), how};
        const Buffer& b = p_.buffers[u.buffer];
        u.slot = slot_of(i, b, how);
        i.uses.push_back(u);
        if (how != How::read && (i.op == Op::recv || i.op == Op::gather) &&
            b.role == Role::parameter)
          p_.buffers[u.buffer].resident = false;
        if (how != How::read) how = How::overwrite;
      }
    }
    add_scratch(i);
    return i;
  }

  /// Scratch is not printed: that of the operation, and what a forward saves where its text saves
  /// nothing.
  void add_scratch(Instruction& i) {
    if (i.block == none) return;
    const BlockSpec& block = graph_.blocks[i.block];
    const auto phase = block.phases.find(i.op);
    if (phase == block.phases.end()) return;
    for (const SlotUse& u : phase->second.uses) {
      const SlotSpec& s = block.slots[u.slot];
      if ((s.role != Role::scratch && s.role != Role::saved) || !writes(u.how)) continue;
      if (std::any_of(i.uses.begin(), i.uses.end(), [&](const Use& x) { return x.slot == u.slot; }))
        continue;
      const BufferId b = add_buffer(p_, {.name = block.name + "." + s.name,
                                         .role = Role::scratch,
                                         .index = i.block,
                                         .micro = i.micro,
                                         .elements = s.tensor.elements()});
      i.uses.push_back(Use{b, How::overwrite, u.slot});
    }
  }

  const ModelGraph& graph_;
  UpdateSpec update_;
  StepProgram p_;
  std::string sharded_text_;
  std::map<std::pair<std::string, int>, BufferId> ids_;
};

inline StepProgram parse(const ModelGraph& graph, const UpdateSpec& update, int world,
                         const std::string& text) {
  return TextProgram(graph, update, world).parse(text);
}

}  // namespace toy
