#include "program/print.hpp"
#include <algorithm>

namespace trainx::program {
namespace {

constexpr std::size_t widest_reads = 40;  // a longer list of reads pushes only its own line

struct Line {
  std::string micro, op, block, lane, reads, writes;
};

std::string_view sign_of(const StepProgram& p, const Use& u) {
  switch (u.how) {
    case How::accumulate: return "+ ";
    case How::modify: return "~ ";
    case How::overwrite: return p.buffers[u.buffer].role == Role::gradient ? "= " : "";
    case How::read: break;
  }
  return "";
}

std::string name_of_block(const Instruction& i, const ModelGraph* names) {
  const int of = is_of_parameters(i) ? i.group : i.block;
  if (of == none) return "";
  if (!names) return "b" + std::to_string(of);
  const auto k = static_cast<std::size_t>(of);
  return is_of_parameters(i) ? names->groups[k].name : names->blocks[k].name;
}

Line line_of(const StepProgram& p, const Instruction& i, const ModelGraph* names) {
  Line line{i.micro == none ? "" : "m" + std::to_string(i.micro),
            std::string(name_of(i.op)),
            name_of_block(i, names),
            i.lane == Lane::compute ? "" : "@" + std::string(name_of(i.lane)),
            "",
            ""};
  if (i.along != axes::all) line.op += " among " + name_of(i.along);
  if (i.peer != none) line.op += "(" + std::to_string(i.peer) + ")";
  for (const Use& u : i.uses) {
    if (p.buffers[u.buffer].role == Role::scratch) continue;
    std::string& side = u.how == How::read ? line.reads : line.writes;
    (side += ' ').append(sign_of(p, u)) += p.buffers[u.buffer].name;
  }
  return line;
}

std::string padded(std::string s, std::size_t width) {
  s.resize(std::max(width, s.size()), ' ');
  return s;
}

}  // namespace

std::string print(const StepProgram& p, const std::vector<Instruction>& list,
                  const ModelGraph* names) {
  std::vector<Line> lines;
  Line width;  // its strings are only as long as the columns
  auto widen = [](std::string& column, const std::string& s) {
    column.resize(std::max(column.size(), s.size()));
  };
  for (const Instruction& i : list) {
    const Line& l = lines.emplace_back(line_of(p, i, names));
    widen(width.micro, l.micro), widen(width.op, l.op), widen(width.block, l.block),
        widen(width.lane, l.lane);
    if (l.reads.size() <= widest_reads) widen(width.reads, l.reads);
  }
  std::string out;
  for (const Line& l : lines) {
    std::string text = padded(l.micro, width.micro.size()) + (width.micro.empty() ? "" : " ") +
                       padded(l.op, width.op.size());
    for (auto [column, field] :
         {std::pair(&width.block, &l.block), std::pair(&width.lane, &l.lane)})
      if (!column->empty()) text += " " + padded(*field, column->size());
    text += " " + padded(l.reads, width.reads.size());
    if (!l.writes.empty()) text += " >" + l.writes;
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + "\n";
  }
  return out;
}

std::string print(const StepProgram& p, const ModelGraph* names) {
  if (p.once.empty()) return print(p, p.steady, names);
  return "once:\n" + print(p, p.once, names) + "steady:\n" + print(p, p.steady, names);
}

}  // namespace trainx::program
