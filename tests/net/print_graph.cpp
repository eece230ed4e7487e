#include "tests/net/print_graph.hpp"
#include "tests/net/written.hpp"
#include <map>
#include <nlohmann/json.hpp>

namespace net {

// It has a base.
template <>
std::string written(const trainx::program::ScalarSpec& scalar) {
  return written_text(scalar.name) + " " + written(scalar.role) + " " + written(scalar.dtype) +
         written(scalar.dims);
}

namespace {

using namespace trainx;
using operations::BoundBlock;
using operations::BoundOp;
using program::ModelGraph;

class Text {
 public:
  /// A line; `depth` indents it.
  void line(int depth, const std::string& text) {
    out_.append(static_cast<std::size_t>(2 * depth), ' ').append(text).append("\n");
  }
  template <class T>
  void members(int depth, const std::string& what, const T& object) {
    const std::string text = written_members(object);
    line(depth, text.empty() ? what : what + " " + text);
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

/// The lists whose entries have lines of their own are left out of the object's own line.
template <class T>
T without(T object, auto... lists) {
  ((object.*lists = {}), ...);
  return object;
}

char sign_of(program::How how) {
  switch (how) {
    case program::How::read: return 'r';
    case program::How::overwrite: return 'w';
    case program::How::accumulate: return '+';
    case program::How::modify: return '~';
  }
  return '?';
}

void print_phase(Text& out, program::Op op, const program::Phase& phase) {
  using program::Phase;
  const std::string name(program::name_of(op));
  out.members(1, name,
              without(phase, &Phase::uses, &Phase::gemms, &Phase::kernels, &Phase::element_work,
                      &Phase::parameter_casts));
  std::string uses = "uses";
  for (const program::SlotUse& u : phase.uses)
    uses.append(" ").append(std::to_string(u.slot)) += sign_of(u.how);
  out.line(2, uses);
  for (const program::Gemm& g : phase.gemms) out.members(2, "product", g);
  for (const program::KernelLaunches& k : phase.kernels) out.members(2, "kernels", k);
  for (const program::ElementWork& w : phase.element_work) out.members(2, "elements", w);
  for (const program::ParameterCast& c : phase.parameter_casts) out.members(2, "cast", c);
}

void print_operations(Text& out, const std::string& when, const std::vector<BoundOp>& all) {
  for (const BoundOp& op : all) {
    const std::string name(operations::name_of(op.operation));
    const std::string flags = std::visit([](const auto& o) { return written(o); }, op.operation);
    out.line(1, when + ": " + name + flags);
    out.members(2, "operands", without(op, &BoundOp::operation));
  }
}

void print_bound(Text& out, const BoundBlock& block) {
  out.members(1, "bound",
              without(block, &BoundBlock::forward, &BoundBlock::remade, &BoundBlock::backward,
                      &BoundBlock::evaluated, &BoundBlock::casts));
  print_operations(out, "forward", block.forward);
  print_operations(out, "remade", block.remade);
  print_operations(out, "backward", block.backward);
  print_operations(out, "evaluated", block.evaluated);
  print_operations(out, "casts", block.casts);
}

void print_block(Text& out, const program::BlockSpec& block) {
  using program::BlockSpec;
  out.members(0, "block", without(block, &BlockSpec::slots, &BlockSpec::phases));
  for (std::size_t s = 0; s < block.slots.size(); ++s)
    out.members(1, "slot " + std::to_string(s), block.slots[s]);
  for (const auto& [op, phase] : block.phases) print_phase(out, op, phase);
}

/// Adds what flags and choices may be and are in a new object, those of members' own members as
/// "member.own"; of a member that may be absent, whether it is there.
template <class Member>
void add_choice(nlohmann::json& out, const std::string& name, const Member& begun_as);

template <class Object>
void add_choices_of(nlohmann::json& out, const std::string& before) {
  static constexpr auto names = names_of_members<Object>();
  std::size_t k = 0;
  const auto add = [&](const auto& member) {
    add_choice(out, before + std::string(names[k]), member);
    ++k;
  };
  std::apply([&](const auto&... member) { (add(member), ...); }, members_of(begun<Object>.value));
}

template <class Member>
void add_choice(nlohmann::json& out, const std::string& name, const Member& begun_as) {
  if constexpr (std::is_same_v<Member, bool>) {
    out[name] = {{"values", {"false", "true"}}, {"begins", written(begun_as)}};
  } else if constexpr (std::is_enum_v<Member>) {
    static constexpr auto names = names_of_enumerators<Member>();
    nlohmann::json values;
    for (const std::string_view n : names)
      if (!n.empty()) values.push_back(n);
    out[name] = {{"values", values}, {"begins", written(begun_as)}};
  } else if constexpr (is_optional<Member>) {
    out[name] = {{"values", {"false", "true"}}, {"begins", begun_as ? "true" : "false"}};
    using Held = std::remove_cvref_t<decltype(*begun_as)>;
    if constexpr (std::is_class_v<Held> && std::is_aggregate_v<Held>)
      add_choices_of<Held>(out, name + ".");
  } else if constexpr (std::is_class_v<Member> && std::is_aggregate_v<Member>) {
    add_choices_of<Member>(out, name + ".");
  }
}

template <class Operation>
void add_choices(nlohmann::json& all) {
  nlohmann::json& own = all[std::string(Operation::name)] = nlohmann::json::object();
  add_choices_of<Operation>(own, "");
}

template <class... Operations>
nlohmann::json choices_of_all(const std::variant<Operations...>&) {
  nlohmann::json all;
  (add_choices<Operations>(all), ...);
  return all;
}

}  // namespace

std::string graph_text(const ModelGraph& graph) {
  Text out;
  ModelGraph own = graph;
  own.groups = {}, own.values = {}, own.batch = {}, own.scalars = {}, own.blocks = {};
  own.composition = nullptr;
  out.members(0, "graph", own);
  using program::GroupSpec;
  for (const GroupSpec& g : graph.groups) {
    out.members(1, "group", without(g, &GroupSpec::parameters, &GroupSpec::of_part));
    for (const program::ParameterSpec& p : g.parameters) out.members(2, "parameter", p);
    if (g.of_part)
      for (const program::ParameterSpec& p : *g.of_part) out.members(2, "part", p);
  }
  for (const program::TensorSpec& v : graph.values) out.members(1, "value", v);
  for (const program::TensorSpec& b : graph.batch) out.members(1, "batch", b);
  for (const program::ScalarSpec& s : graph.scalars) out.line(1, "scalar " + written(s));
  std::map<const BoundBlock*, std::string> composed;  // by what they share
  for (std::size_t b = 0; b < graph.blocks.size(); ++b) {
    const program::BlockSpec& block = graph.blocks[b];
    print_block(out, block);
    if (!graph.composition) continue;
    const BoundBlock* bound = graph.composition->blocks.at(b).get();
    const auto [shared, first] = composed.try_emplace(bound, block.name);
    if (!first) out.line(1, "operations of " + shared->second);
    if (first) print_bound(out, *bound);
  }
  if (graph.composition)
    for (const graph::Fp8Product& p : graph.composition->fp8_products) out.members(0, "fp8", p);
  return out.take();
}

nlohmann::json operations() { return choices_of_all(operations::Operation{}); }

}  // namespace net
