// Programs of stages: together they are the program of one rank that has all layers, and a message,
// a sum or a broadcast that is left out, doubled, exchanged or early is found.
#include "core/error.hpp"
#include "support/toy/blocking_messages.hpp"
#include "support/toy/sharing.hpp"
#include <algorithm>
#include <functional>
#include <random>
#include <set>
#include <tuple>

namespace pipeline_test {

using namespace toy;

namespace {

enum class Beside { nothing, ddp, zero1 };

/// A run of a model in stages.
struct Staged {
  ModelGraph graph;
  PipelineCut cut;
  RecomputeLevel level = RecomputeLevel::none;
  Beside beside = Beside::nothing;
  int ranks_of_stage = 1;

  /// As many chunks, as equal as they can be, between layers.
  Staged(ModelGraph of, int stages, int chunks, int micro_steps) : graph(std::move(of)) {
    cut.shape = {stages, chunks, micro_steps};
    cut.schedule = chunks == 1 ? PipelineSchedule::one_f_one_b : PipelineSchedule::interleaved;
    std::vector<int> part_of_block;  // the blocks of a layer are one part
    for (std::size_t b = 0; b < graph.blocks.size(); ++b) {
      const bool goes_on = b > 0 && graph.blocks[b].layer != none &&
                           graph.blocks[b].layer == graph.blocks[b - 1].layer;
      part_of_block.push_back(b == 0 ? 0 : part_of_block.back() + (goes_on ? 0 : 1));
    }
    const int parts = part_of_block.back() + 1;
    REQUIRE(parts >= cut.shape.all_chunks());
    for (const int part : part_of_block)
      cut.chunk_of_block.push_back(part * cut.shape.all_chunks() / parts);
  }
  Mesh mesh() const {
    Mesh of(cut.shape.stages * ranks_of_stage, beside == Beside::zero1 ? ranks_of_stage : 1);
    of.pipeline = cut.shape.stages;
    return of;
  }
  StepProgram whole() const {
    return passes::activation_recomputation(
        passes::accumulation(plain_program(graph, momentum()), cut.shape.micro_steps), graph,
        level);
  }
  StepProgram stage_of(StepProgram p, int stage) const {
    p = passes::pipeline(std::move(p), graph, mesh(), cut, stage);
    if (beside == Beside::ddp) p = passes::distributed_data_parallel(std::move(p), {mesh()});
    if (beside == Beside::zero1)
      p = passes::zero(std::move(p), graph, momentum(), {mesh()}, {.stage = 1});
    return p;
  }
  Roles roles(const StepProgram& of) const {
    Roles roles;
    for (int s = 0; s < cut.shape.stages; ++s) {
      roles.programs.push_back(stage_of(of, s));
      roles.of_rank.insert(roles.of_rank.end(), static_cast<std::size_t>(ranks_of_stage),
                           static_cast<std::size_t>(s));
    }
    return roles;
  }
  Roles roles() const { return roles(whole()); }
  StepProgram plain_evaluation() const {
    return forward_program(plain_program(graph, momentum()), graph, Op::evaluate);
  }
  Training training() const { return {&graph, momentum(), cut.shape.micro_steps, ranks_of_stage}; }
  std::string problem(const Roles& of) const {
    std::vector<Placement> at;
    for (const StepProgram& p : of.programs) at.push_back(unplaced(p));
    return check(of, at, training());
  }
  std::string words() const {
    return std::to_string(cut.shape.stages) + " stages, " + std::to_string(cut.shape.chunks) +
           " chunks, " + std::to_string(cut.shape.micro_steps) + " micro-steps";
  }
};

/// A group that the first, a middle and the last block use.
ModelGraph tied_three_times() {
  ModelGraph g = empty_graph();
  const int tied = add_group(g, "tied");
  g.blocks.push_back(embed("embed", tied, add_value(g, "h0")));
  g.blocks.push_back(middle("b1", 0, add_group(g, "b1"), 0, add_value(g, "h1")));
  g.blocks.push_back(middle("b2", 1, tied, 1, add_value(g, "h2")));
  g.blocks.push_back(middle("b3", 2, add_group(g, "b3"), 2, add_value(g, "h3")));
  g.blocks.push_back(middle("b4", 3, add_group(g, "b4"), 3, add_value(g, "h4")));
  g.blocks.push_back(head(tied, 4));
  return g;
}

/// Each block of a layer adds to one number.
ModelGraph counting(int blocks) {
  ModelGraph g = chain(blocks, false);
  g.scalars.push_back(metric(std::string(fp8_counts)));
  for (BlockSpec& b : g.blocks) {
    if (b.layer == none) continue;
    b.slots.push_back(slot("counts", Role::metric, 2));
    b.phases[Op::forward].uses.push_back({static_cast<Slot>(b.slots.size()) - 1, How::accumulate});
  }
  return g;
}

std::vector<Staged> some_runs() {
  std::vector<Staged> runs;
  for (const auto& graph : {chain(6, false), chain(6, true), tied_three_times(), encoder_decoder(5),
                            pairs(4), counting(5)}) {
    runs.emplace_back(graph, 2, 1, 3);
    runs.emplace_back(graph, 2, 2, 4);
    runs.emplace_back(graph, 3, 1, 2);
    runs.emplace_back(graph, 3, 2, 3);
    runs.emplace_back(graph, 4, 1, 1);
  }
  return runs;
}

bool is_message(const Instruction& i) { return i.op == Op::send || i.op == Op::recv; }
bool is_of_pipeline(const Instruction& i) { return i.along == axes::stage && is_collective(i.op); }

Instruction taken(StepProgram& p, std::size_t at) {
  Instruction i = p.steady[at];
  p.steady.erase(p.steady.begin() + static_cast<std::ptrdiff_t>(at));
  return i;
}
void put(StepProgram& p, std::size_t at, Instruction i) {
  p.steady.insert(p.steady.begin() + static_cast<std::ptrdiff_t>(at), std::move(i));
}

/// The place of the last instruction ahead of `at` that touches what it touches, one of them
/// writing.
std::size_t last_met(const StepProgram& p, std::size_t at) {
  for (std::size_t k = at; k-- > 0;)
    if (meet(p.steady[k], p.steady[at])) return k;
  return at;
}

/// Is it a batch of which the stage reads nothing?
bool is_unread_batch(const StepProgram& p, const Instruction& i) {
  return i.op == Op::fetch_batch && std::ranges::none_of(p.steady, [&](const Instruction& other) {
           return std::ranges::any_of(other.uses, [&](const Use& u) {
             return u.how == How::read && std::ranges::any_of(i.uses, [&](const Use& made) {
                      return writes(made.how) && made.buffer == u.buffer;
                    });
           });
         });
}

void check_that_changes_are_found(const Staged& run) {
  const Roles sound = run.roles();
  REQUIRE(run.problem(sound) == "");
  int deleted = 0, doubled = 0, early = 0, exchanged = 0;
  for (std::size_t s = 0; s < sound.programs.size(); ++s)
    for (std::size_t k = 0; k < sound.programs[s].steady.size(); ++k) {
      const auto changed = [&](const std::function<void(StepProgram&)>& change) {
        Roles other = sound;
        change(other.programs[s]);
        return run.problem(other);
      };
      const StepProgram& p = sound.programs[s];
      const Instruction& i = p.steady[k];
      CAPTURE(run.words(), s, k, name_of(i.op));
      if (i.op == Op::report || is_unread_batch(p, i)) continue;  // others tell the same
      CHECK(changed([&](StepProgram& q) { taken(q, k); }) != "");
      ++deleted;
      if (!is_of_pipeline(i) && i.op != Op::add) continue;
      CHECK(changed([&](StepProgram& q) { put(q, k, q.steady[k]); }) != "");
      ++doubled;
      if (const std::size_t before = last_met(p, k); before < k) {
        CHECK(changed([&](StepProgram& q) { put(q, before, taken(q, k)); }) != "");
        ++early;
      }
      if (!is_message(i)) continue;
      const auto next = std::ranges::find_if(p.steady.begin() + static_cast<std::ptrdiff_t>(k) + 1,
                                             p.steady.end(),
                                             [&](const Instruction& j) { return j.op == i.op; });
      if (next == p.steady.end()) continue;
      const auto other = static_cast<std::size_t>(next - p.steady.begin());
      if (i.uses[0].buffer == p.steady[other].uses[0].buffer) continue;  // told to two stages
      CHECK(changed([&](StepProgram& q) {
              std::swap(q.steady[k].uses[0].buffer, q.steady[other].uses[0].buffer);
            }) != "");
      ++exchanged;
    }
  CHECK((deleted > 0 && doubled > 0 && early > 0 && exchanged > 0));
}

std::set<int> groups_of(const StepProgram& p) {
  std::set<int> groups;
  for (const Buffer& b : p.buffers)
    if (is_of_group(b)) groups.insert(b.index);
  return groups;
}

/// What messages carry: the same at both ends.
using Content = std::tuple<Role, int, int>;
Content content_of(const Buffer& b) {
  return {b.role == Role::transit ? Role::gradient : b.role, b.index, b.micro};
}

std::vector<std::vector<MessageEnd>> messages_of(const Roles& roles) {
  std::map<Content, int> numbers;
  std::vector<std::vector<MessageEnd>> stages;
  for (const StepProgram& p : roles.programs) {
    auto& messages = stages.emplace_back();
    for (const Instruction& i : p.steady) {
      if (!is_collective(i.op)) continue;
      const Content content = content_of(p.buffers[static_cast<std::size_t>(i.uses[0].buffer)]);
      const int number =
          numbers.try_emplace(content, static_cast<int>(numbers.size())).first->second;
      messages.push_back({i.op == Op::send, is_message(i) ? i.peer : MessageEnd::all, number});
    }
  }
  return stages;
}

}  // namespace

TEST_CASE("stages train as one rank with all layers") {
  for (const Staged& run : some_runs())
    for (const RecomputeLevel level : {RecomputeLevel::none, RecomputeLevel::full}) {
      Staged leveled = run;
      leveled.level = level;
      CAPTURE(run.words(), run.graph.groups[0].name, run.graph.blocks.size(), level);
      CHECK(leveled.problem(leveled.roles()) == "");
    }
}

TEST_CASE("stages run on lanes to the bits of one rank") {
  for (const ModelGraph& graph : {chain(6, true), tied_three_times(), encoder_decoder(5), pairs(4)})
    for (const auto& [stages, chunks, micro_steps] :
         {std::tuple{2, 1, 3}, std::tuple{2, 2, 4}, std::tuple{3, 2, 3}}) {
      const Staged run(graph, stages, chunks, micro_steps);
      CAPTURE(run.words());
      CHECK(prove(run.roles(), run.training(), {.steps = 3}) == "");
    }
}

TEST_CASE("stages go together with sums over ranks, and with shards of states") {
  for (const Beside beside : {Beside::ddp, Beside::zero1})
    for (const ModelGraph& graph : {chain(6, true), tied_three_times(), counting(5)})
      for (const auto& [stages, chunks, ranks] :
           {std::tuple{2, 1, 2}, std::tuple{3, 1, 3}, std::tuple{2, 2, 2}}) {
        Staged run(graph, stages, chunks, stages);
        run.beside = beside;
        run.ranks_of_stage = ranks;
        CAPTURE(run.words(), ranks, beside == Beside::ddp);
        CHECK(run.problem(run.roles()) == "");
      }
}

TEST_CASE("each instruction of each stage is needed, once, in its place") {
  check_that_changes_are_found(Staged(chain(2, false), 2, 1, 2));
  check_that_changes_are_found(Staged(chain(3, true), 2, 2, 2));
  check_that_changes_are_found(Staged(tied_three_times(), 3, 1, 2));
  check_that_changes_are_found(Staged(encoder_decoder(2), 3, 1, 2));
  check_that_changes_are_found(Staged(counting(2), 2, 1, 2));
}

TEST_CASE("each instruction of stages of several ranks is needed, once, in its place") {
  for (const Beside beside : {Beside::ddp, Beside::zero1}) {
    Staged run(chain(2, true), 2, 1, 2);
    run.beside = beside;
    run.ranks_of_stage = 2;
    check_that_changes_are_found(run);
  }
}

TEST_CASE("the check refuses exchanged messages where stages would wait for each other for ever") {
  const unsigned seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  const std::vector<Staged> runs{Staged(chain(4, true), 2, 1, 3), Staged(chain(6, false), 2, 2, 4),
                                 Staged(chain(4, false), 4, 1, 4), Staged(chain(7, true), 3, 2, 3)};
  int tried = 0, refused = 0;
  for (const Staged& run : runs) {
    const Roles sound = run.roles();
    REQUIRE(run_blocking(messages_of(sound)) == Outcome::ends);
    for (int k = 0; k < 30; ++k) {
      Roles other = sound;
      auto& list = other.programs[random() % other.programs.size()].steady;
      std::vector<std::size_t> neighbours;
      for (std::size_t at = 0; at + 1 < list.size(); ++at)
        if (is_of_pipeline(list[at]) && is_of_pipeline(list[at + 1]) &&
            !meet(list[at], list[at + 1]))
          neighbours.push_back(at);
      if (neighbours.empty()) continue;
      const std::size_t at = neighbours[random() % neighbours.size()];
      CAPTURE(run.words(), at, name_of(list[at].op), name_of(list[at + 1].op));
      std::swap(list[at], list[at + 1]);
      const bool ends = run_blocking(messages_of(other)) == Outcome::ends;
      const std::string problem = run.problem(other);
      CAPTURE(problem);
      CHECK(ends == problem.empty());
      ++tried;
      refused += ends ? 0 : 1;
    }
  }
  CHECK(tried > 20);
  CHECK(refused > 0);
}

TEST_CASE("a stage has the weights, states and work of its own layers alone") {
  for (const Staged& run : some_runs()) {
    const auto stages = stages_of_groups(run.graph, run.cut);
    const Roles roles = run.roles();
    std::set<int> all;
    for (int s = 0; s < run.cut.shape.stages; ++s) {
      const StepProgram& p = roles.programs[static_cast<std::size_t>(s)];
      CAPTURE(run.words(), s);
      for (const int group : groups_of(p)) {
        CHECK(std::ranges::count(stages[static_cast<std::size_t>(group)], s) == 1);
        all.insert(group);
      }
      std::set<BufferId> used;
      for (const Instruction& i : p.steady) {
        if (is_of_block(i)) CHECK(run.cut.stage_of_block(i.block) == s);
        for (const Use& u : i.uses) used.insert(u.buffer);
      }
      for (std::size_t b = 0; b < p.buffers.size(); ++b) {
        CAPTURE(p.buffers[b].name);
        CHECK((p.buffers[b].resident || used.contains(static_cast<BufferId>(b))));
        if (p.buffers[b].role == Role::saved)
          CHECK(run.cut.stage_of_block(p.buffers[b].index) == s);
      }
    }
    CHECK(all.size() == run.graph.groups.size());
  }
}

TEST_CASE("evaluation in stages has the residents of training and the report of one rank") {
  for (const Staged& run : some_runs()) {
    CAPTURE(run.words(), run.graph.groups[0].name, run.graph.blocks.size());
    const Roles train = run.roles(), evaluate = run.roles(run.plain_evaluation());
    const auto residents = [](const StepProgram& p) {
      std::vector<std::tuple<std::string, Role, int, Bytes>> out;
      for (const Buffer& b : p.buffers)
        if (b.resident) out.emplace_back(b.name, b.role, b.index, b.bytes());
      return out;
    };
    const auto reports = [&](const Roles& of) {
      std::vector<Placement> at;
      for (const StepProgram& p : of.programs) {
        at.push_back(plan_memory(p));
        CHECK(check_program(p, at.back()) == "");
      }
      Cluster cluster(of, at);
      Machine machine(run.graph, cluster.ranks);
      machine.run_in_order(2);
      return machine.reports;
    };
    for (std::size_t s = 0; s < train.programs.size(); ++s)
      CHECK(residents(evaluate.programs[s]) == residents(train.programs[s]));
    const auto whole = reports({{run.plain_evaluation()}, {0}});
    REQUIRE(whole[0].size() == 2);
    for (const auto& of_rank : reports(evaluate)) CHECK(of_rank == whole[0]);
  }
}

TEST_CASE("what goes before or behind it is refused") {
  const Staged run(chain(2, false), 2, 1, 2);
  const Mesh mesh = run.mesh();
  const StepProgram reduced = passes::distributed_data_parallel(run.whole(), {mesh});
  CHECK_THROWS_AS(run.stage_of(reduced, 0), InternalError);
  CHECK_THROWS_AS(passes::accumulation(run.stage_of(run.whole(), 0), 2), InternalError);
}

}  // namespace pipeline_test
