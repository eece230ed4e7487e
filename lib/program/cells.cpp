#include "program/cells.hpp"
#include "program/operations.hpp"
#include <algorithm>

namespace trainx::program {
namespace {

std::int64_t elements_of(const Buffer& b, const StepProgram& p, const ModelGraph& graph) {
  const std::int64_t n = graph.groups[b.index].elements;
  return n / parts_of(p, b);
}

/// Copies between buffers of no group hand their cuts to each other, until nothing is new.
void share_cuts_of_copies(const StepProgram& p, std::vector<std::set<Bytes>>& cuts) {
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto* list : {&p.once, &p.steady})
      for (const Instruction& i : *list) {
        if (i.op != Op::copy || i.uses.size() != 2) continue;
        for (const auto& [a, b] :
             {std::pair(i.uses[0], i.uses[1]), std::pair(i.uses[1], i.uses[0])}) {
          if (is_of_group(p.buffers[a.buffer]) || is_of_group(p.buffers[b.buffer])) continue;
          for (const Bytes c : std::set<Bytes>(cuts[a.buffer]))
            changed |= cuts[b.buffer].insert(c).second;
        }
      }
  }
}

/// Where a piece begins. Pieces need not be so in memory: they are told apart.
Bytes begin_of_piece(Bytes bytes, int part, int parts) { return bytes * part / parts; }

/// What blocks of experts use is in pieces.
void cut_pieces(const StepProgram& p, const ModelGraph& graph, std::vector<std::set<Bytes>>& cuts) {
  const std::vector<int> of_values = parts_of_values(graph);
  for (const auto* list : {&p.once, &p.steady})
    for (const Instruction& i : *list) {
      if (!is_of_block(i) || static_cast<std::size_t>(i.block) >= graph.blocks.size()) continue;
      for (const Use& u : i.uses) {
        const Buffer& b = p.buffers[u.buffer];
        const BlockSpec& block = graph.blocks[i.block];
        const int of_block = block.parts.own_alone ? 1 : block.parts.count;
        int parts = 1;
        if (b.role == Role::value || b.role == Role::value_gradient)
          parts = of_values[static_cast<std::size_t>(b.index)];
        else if (b.role == Role::saved || b.role == Role::scratch)
          parts = of_block;
        for (int k = 1; k < parts; ++k) cuts[u.buffer].insert(begin_of_piece(b.bytes(), k, parts));
      }
    }
}

}  // namespace

std::string add_group_cuts(const StepProgram& p, const ModelGraph& graph, GroupCuts& cuts) {
  cuts.resize(graph.groups.size());
  for (std::size_t g = 0; g < cuts.size(); ++g)
    for (int part = 0; part < graph.groups[g].parts.count; ++part)
      cuts[g].insert(part * graph.groups[g].part_elements());
  for (const Buffer& b : p.buffers) {
    if (!is_of_group(b)) continue;
    if (b.unit == Unit::tensor && b.is_cut()) return b.name + " is a shard of what cannot be cut";
    if (b.index < 0 || static_cast<std::size_t>(b.index) >= graph.groups.size())
      return b.name + " belongs to no group of the model";
    const std::int64_t n = elements_of(b, p, graph);
    if (graph.groups[b.index].elements % parts_of(p, b) != 0)
      return b.name + " is a shard of a group that the ranks do not divide";
    if (n == 0 || (b.unit == Unit::element && b.elements != n))
      return b.name + " does not have the size of its group";
  }
  return "";
}

void repeat_cuts_in_shards(const StepProgram& p, const ModelGraph& graph, GroupCuts& cuts) {
  std::vector<int> parts(cuts.size(), 1);
  for (const Buffer& b : p.buffers)
    if (is_of_group(b)) {
      int& most = parts[static_cast<std::size_t>(b.index)];
      most = std::max(most, parts_of(p, b));
    }
  for (std::size_t g = 0; g < cuts.size(); ++g) {
    const std::int64_t n = graph.groups[g].elements / parts[g];
    if (parts[g] == 1) continue;
    for (const std::int64_t c : std::set<std::int64_t>(cuts[g]))
      for (int r = 0; r < parts[g]; ++r) cuts[g].insert(r * n + c % n);
  }
}

CellMap::CellMap(const StepProgram& p, const ModelGraph& graph, const GroupCuts& group_cuts)
    : mesh_(p.mesh) {
  std::vector<std::set<Bytes>> cuts(p.buffers.size());
  for (auto& c : cuts) c.insert(0);
  cut_pieces(p, graph, cuts);
  share_cuts_of_copies(p, cuts);
  for (std::size_t b = 0; b < p.buffers.size(); ++b) {
    const Buffer& buffer = p.buffers[b];
    std::vector<Bytes>& mine = cuts_.emplace_back();
    first_.push_back(static_cast<int>(elements_.size()));
    bytes_.push_back(buffer.bytes());
    const auto add = [&](Bytes cut, std::int64_t element, std::int64_t of_part) {
      mine.push_back(cut), elements_.push_back(element), part_elements_.push_back(of_part);
      layouts_.push_back(buffer.layout);
    };
    if (!is_of_group(buffer)) {
      for (const Bytes c : cuts[b])
        if (c < buffer.bytes() || c == 0) add(c, c, 0);
      continue;
    }
    if (buffer.unit == Unit::tensor) {
      add(0, 0, 0);
      continue;
    }
    const std::int64_t n = elements_of(buffer, p, graph);
    for (const std::int64_t e : group_cuts[buffer.index])
      if (e < n)
        add(buffer.unit == Unit::block ? 0 : e * size_of(buffer.dtype), e, buffer.is_cut() ? n : 0);
  }
  first_.push_back(static_cast<int>(elements_.size()));
}

CellMap::Run CellMap::of_piece(BufferId b, int part, int parts) const {
  const auto& cuts = cuts_[static_cast<std::size_t>(b)];
  const int first = first_[static_cast<std::size_t>(b)];
  if (cuts.size() == 1) return {first, first + 1};
  const auto index = [&](int piece) {
    const Bytes offset = begin_of_piece(bytes_[static_cast<std::size_t>(b)], piece, parts);
    return first +
           static_cast<int>(std::lower_bound(cuts.begin(), cuts.end(), offset) - cuts.begin());
  };
  return {index(part), index(part + 1)};
}

}  // namespace trainx::program
