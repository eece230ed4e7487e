#include "program/symbolic_run.hpp"
#include "program/operations.hpp"
#include <algorithm>
#include <map>
#include <tuple>

namespace trainx::program {

std::string SymbolicRun::collective_among(const std::vector<int>& ranks,
                                          const std::vector<const Instruction*>& of_rank) {
  const Instruction& first = *of_rank[static_cast<std::size_t>(ranks.front())];
  const Op op = first.op;
  if (op == Op::scatter || op == Op::gather || op == Op::all_to_all) {
    int things = 0;
    while (find_use(first, ShardSlot::from(things))) ++things;
    if (things == 0) return std::string(name_of(op)) + " of nothing";
    for (const int r : ranks)
      if (const Instruction& i = *of_rank[static_cast<std::size_t>(r)];
          find_use(i, ShardSlot::from(things)) || !find_use(i, ShardSlot::from(things - 1)))
        return std::string(name_of(op)) + " of different things";
    for (int k = 0; k < things; ++k)
      if (std::string problem =
              op == Op::all_to_all && is_in_pieces(first, k, ranks.front())
                  ? exchange(k, ranks, of_rank)
              : is_of_group(buffer(*find_use(first, ShardSlot::from(k)), ranks.front()))
                  ? shard_move(op, k, ranks, of_rank)
                  : value_move(op, k, ranks, of_rank);
          !problem.empty())
        return problem;
    return "";
  }
  if (op == Op::broadcast) return broadcast(ranks, of_rank);
  if (op != Op::reduce) return std::string(name_of(op)) + " is not known to the check";
  return reduce(ranks, of_rank);
}

std::string SymbolicRun::reduce(const std::vector<int>& ranks,
                                const std::vector<const Instruction*>& of_rank) {
  const int lead = ranks.front();
  const Instruction& first = *of_rank[static_cast<std::size_t>(lead)];
  for (const int r : ranks) {
    const Instruction& i = *of_rank[static_cast<std::size_t>(r)];
    if (i.uses.size() != first.uses.size()) return "reduce of different things";
    if (i.peer != first.peer) return "reduce to different ranks";
    if (i.peer != none && (i.peer < 0 || static_cast<std::size_t>(i.peer) >= ranks.size()))
      return "reduce to rank " + std::to_string(i.peer) + ", which does not exist";
  }
  for (std::size_t k = 0; k < first.uses.size(); ++k) {
    const auto like = cells(lead).of(first.uses[k]);
    for (int c = 0; c < like.end - like.begin; ++c) {
      Symbol sum = 0;
      for (const int rank : ranks) {
        const Use& u = of_rank[static_cast<std::size_t>(rank)]->uses[k];
        const auto run = cells(rank).of(u);
        if (run.end - run.begin != like.end - like.begin ||
            cells(rank).element(run.begin + c, rank) != cells(lead).element(like.begin + c, lead) ||
            is_of_group(buffer(u, rank)) != is_of_group(buffer(first.uses[k], lead)))
          return "reduce of " + buffer(u, rank).name + " with other pieces of " +
                 buffer(first.uses[k], lead).name;
        const std::int64_t begin = cells(rank).element(run.begin + c, rank);
        sum += at(rank, run.begin + c) -
               (is_of_group(buffer(u, rank)) || rank == lead ? 0 : offset_symbol(begin));
      }
      for (const int rank : ranks)
        if (first.peer == none || rank == ranks.at(static_cast<std::size_t>(first.peer)))
          at(rank, cells(rank).of(of_rank[static_cast<std::size_t>(rank)]->uses[k]).begin + c) =
              sum;
    }
  }
  return "";
}

std::string SymbolicRun::broadcast(const std::vector<int>& ranks,
                                   const std::vector<const Instruction*>& of_rank) {
  const int peer = of_rank[static_cast<std::size_t>(ranks.front())]->peer;
  if (peer < 0 || static_cast<std::size_t>(peer) >= ranks.size())
    return "broadcast from rank " + std::to_string(peer) + ", which does not exist";
  const int root = ranks[static_cast<std::size_t>(peer)];
  const Instruction& source = *of_rank[static_cast<std::size_t>(root)];
  for (const int r : ranks) {
    const Instruction& i = *of_rank[static_cast<std::size_t>(r)];
    if (i.peer != peer || i.uses.size() != source.uses.size())
      return "broadcast of different things";
    if (r == root) continue;
    for (std::size_t k = 0; k < i.uses.size(); ++k)
      if (std::string problem = move(i, source.uses[k], root, i.uses[k], r); !problem.empty())
        return problem;
  }
  return "";
}

/// Do blocks know pieces of what the thing is sent from?
bool SymbolicRun::is_in_pieces(const Instruction& i, int thing, int rank) const {
  const Buffer& b = buffer(*find_use(i, ShardSlot::from(thing)), rank);
  return !is_of_group(b) && value_parts_[static_cast<std::size_t>(b.index)] > 1;
}

/// all_to_all: the slot that each rank has for the others, in the order of ranks.
std::string SymbolicRun::exchange(int thing, const std::vector<int>& ranks,
                                  const std::vector<const Instruction*>& of_rank) {
  const auto use = [&](int rank, Slot slot) {
    return find_use(*of_rank[static_cast<std::size_t>(rank)], slot);
  };
  const int parts = static_cast<int>(ranks.size());
  std::vector<std::tuple<int, int, Symbol>> results;  // rank, cell, symbol
  for (int a = 0; a < parts; ++a)
    for (int b = 0; b < parts; ++b) {
      const int from_rank = ranks[static_cast<std::size_t>(a)],
                to_rank = ranks[static_cast<std::size_t>(b)];
      const Use *from = use(from_rank, ShardSlot::from(thing)),
                *to = use(to_rank, ShardSlot::to(thing));
      if (!from || !to) return "all_to_all without an operand";
      const Buffer &source = buffer(*from, from_rank), &target = buffer(*to, to_rank);
      if (source.bytes() != target.bytes() || source.dtype != target.dtype ||
          source.elements % parts != 0 || is_of_group(source) || is_of_group(target) ||
          to->how != How::overwrite)
        return "all_to_all from " + source.name + " to " + target.name +
               ", which are not as many equal slots as ranks";
      const auto sent = cells(from_rank).of_piece(from->buffer, b, parts),
                 got = cells(to_rank).of_piece(to->buffer, a, parts);
      if (sent.end - sent.begin != got.end - got.begin)
        return "all_to_all from " + source.name + " to " + target.name + ", whose pieces differ";
      for (int c = 0; c < got.end - got.begin; ++c)
        results.emplace_back(
            to_rank, got.begin + c,
            at(from_rank, sent.begin + c) -
                offset_symbol(cells(from_rank).element(sent.begin + c, from_rank)) +
                offset_symbol(cells(to_rank).element(got.begin + c, to_rank)));
    }
  for (const auto& [rank, cell, symbol] : results) at(rank, cell) = symbol;
  return "";
}

/// Of values: gather gives each rank what all have, in their order; scatter the rank's rows of the
/// sum; all_to_all the part that each has for it.
std::string SymbolicRun::value_move(Op op, int thing, const std::vector<int>& ranks,
                                    const std::vector<const Instruction*>& of_rank) {
  std::vector<Symbol> shares;
  for (const int r : ranks) {
    const Use *from = find_use(*of_rank[static_cast<std::size_t>(r)], ShardSlot::from(thing)),
              *to = find_use(*of_rank[static_cast<std::size_t>(r)], ShardSlot::to(thing));
    if (!from || !to) return std::string(name_of(op)) + " without an operand";
    const Buffer &a = buffer(*from, r), &b = buffer(*to, r);
    const std::int64_t ratio = static_cast<std::int64_t>(ranks.size());
    if (a.dtype != b.dtype || is_of_group(a) || is_of_group(b) ||
        (op == Op::gather    ? a.elements * ratio != b.elements
         : op == Op::scatter ? a.elements != b.elements * ratio
                             : a.elements != b.elements || a.elements % ratio != 0))
      return std::string(name_of(op)) + " from " + a.name + " to " + b.name +
             (op == Op::all_to_all ? ", which are not as many equal slots as ranks"
                                   : ", which are not the rows of one rank and of all");
    shares.push_back(operand(*from, r));
  }
  for (std::size_t place = 0; place < ranks.size(); ++place) {
    const int r = ranks[place];
    store(*find_use(*of_rank[static_cast<std::size_t>(r)], ShardSlot::to(thing)), r,
          op == Op::gather    ? joined_pieces(shares)
          : op == Op::scatter ? sum_of_rows(shares, static_cast<int>(place))
                              : joined_parts(shares, static_cast<int>(place)));
  }
  return "";
}

/// scatter: the sum over ranks of the elements of each rank's shard. gather: each shard to its
/// elements on all ranks.
std::string SymbolicRun::shard_move(Op op, int thing, const std::vector<int>& ranks,
                                    const std::vector<const Instruction*>& of_rank) {
  // by rank: the cell of each element
  std::map<int, std::map<std::int64_t, int>> from;
  // by element: rank and cell of a gather's shards
  std::map<std::int64_t, std::pair<int, int>> owner;
  const Slot source = ShardSlot::from(thing), target = ShardSlot::to(thing);
  const int lead = ranks.front();
  for (const int r : ranks) {
    const Instruction& i = *of_rank[static_cast<std::size_t>(r)];
    const Use *a = find_use(i, source), *b = find_use(i, target);
    if (!a || !b || !is_of_group(buffer(*a, r)) || !is_of_group(buffer(*b, r)) ||
        buffer(*a, r).index != buffer(*b, r).index)
      return std::string(name_of(op)) + " between buffers that are not of one group";
    if (buffer(*a, r).index !=
        buffer(*find_use(*of_rank[static_cast<std::size_t>(lead)], source), lead).index)
      return std::string(name_of(op)) + " of different groups on different ranks";
    const auto run = cells(r).of(*a);
    for (int c = run.begin; c < run.end; ++c) {
      from[r][cells(r).element(c, r)] = c;
      owner[cells(r).element(c, r)] = {r, c};
    }
  }
  std::vector<std::tuple<int, int, Symbol, bool>> results;  // rank, cell, symbol, adds
  for (const int r : ranks) {
    const Use& to = *find_use(*of_rank[static_cast<std::size_t>(r)], target);
    const auto run = cells(r).of(to);
    for (int c = run.begin; c < run.end; ++c) {
      const std::int64_t element = cells(r).element(c, r);
      Symbol made = 0;
      if (op == Op::gather) {
        const auto o = owner.find(element);
        if (o == owner.end())
          return "gather of " + buffer(to, r).name + " of which a part is on no rank";
        made = at(o->second.first, o->second.second);
      } else {
        for (const int q : ranks) {
          const auto cell = from[q].find(element);
          if (cell == from[q].end())
            return "scatter of " + buffer(to, r).name + " of which a part is missing";
          made += at(q, cell->second);
        }
      }
      results.emplace_back(r, c, made, to.how == How::accumulate);
    }
  }
  for (const auto& [rank, cell, symbol, adds] : results)
    at(rank, cell) = (adds ? at(rank, cell) : 0) + symbol;
  return "";
}

}  // namespace trainx::program
