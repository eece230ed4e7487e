// Schedules of pipelines: the order of turns, the time in which stages idle, and messages that
// block but never wait in a cycle.
#include "program/pipeline_turns.hpp"
#include "core/error.hpp"
#include "support/catch.hpp"
#include "support/toy/blocking_messages.hpp"
#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <tuple>

namespace pipeline_turns_test {

using namespace trainx;
using namespace trainx::program;
using toy::Outcome;

namespace {

PipelineSchedule schedule_of(const PipelineShape& shape) {
  return shape.chunks == 1 ? PipelineSchedule::one_f_one_b : PipelineSchedule::interleaved;
}

/// "F2.1" is the forward of micro-step 1 through chunk 2.
std::string words(const std::vector<Turn>& turns) {
  std::string out;
  for (const Turn& t : turns)
    out += (out.empty() ? "" : " ") + std::string(t.is_backward ? "B" : "F") +
           std::to_string(t.chunk) + "." + std::to_string(t.micro);
  return out;
}

std::vector<PipelineShape> some_shapes() {
  std::vector<PipelineShape> shapes;
  for (const int stages : {1, 2, 3, 4, 8})
    for (const int chunks : {1, 2, 3})
      for (const int rounds : {1, 2, 3}) shapes.push_back({stages, chunks, stages * rounds});
  for (const int stages : {2, 3, 5})
    for (const int micro_steps : {1, 2, 4, 7}) shapes.push_back({stages, 1, micro_steps});
  return shapes;
}

int forwards_before_backward(const std::vector<Turn>& turns) {
  return static_cast<int>(std::ranges::find(turns, true, &Turn::is_backward) - turns.begin());
}

/// The most turns whose activations a stage keeps at once.
int most_under_way(const std::vector<Turn>& turns) {
  int most = 0, now = 0;
  for (const Turn& t : turns) most = std::max(most, now += t.is_backward ? -1 : 1);
  return most;
}

using Key = std::tuple<bool, int, int>;
Key key_of(const Turn& t) { return {t.is_backward, t.chunk, t.micro}; }

/// The turns that make what `t` reads.
std::vector<Key> reads(const PipelineShape& shape, const Turn& t) {
  std::vector<Key> out;
  if (!t.is_backward && t.chunk > 0) out.emplace_back(false, t.chunk - 1, t.micro);
  if (t.is_backward) out.emplace_back(false, t.chunk, t.micro);
  if (t.is_backward && t.chunk + 1 < shape.all_chunks())
    out.emplace_back(true, t.chunk + 1, t.micro);
  return out;
}

/// "" if each turn comes behind the turns and the messages that it needs, and each message once.
std::string problem_of_events(const PipelineShape& shape, const std::vector<PipelineEvent>& events,
                              std::size_t turns) {
  std::map<Key, std::size_t> computed;
  std::set<Key> told;  // by the turn that made it
  for (std::size_t k = 0; k < events.size(); ++k) {
    const PipelineEvent& e = events[k];
    const std::string where = "event " + std::to_string(k) + " of " + words({e.turn});
    if (e.is_message) {
      if (!computed.contains(key_of(e.turn))) return where + ": early message";
      if (!told.insert(key_of(e.turn)).second) return where + ": a message twice";
      if (e.to_chunk != e.turn.chunk + (e.turn.is_backward ? -1 : 1)) return where + ": to whom";
      continue;
    }
    for (const Key& read : reads(shape, e.turn)) {
      if (!computed.contains(read)) return where + ": early turn";
      if (std::get<1>(read) != e.turn.chunk && !told.contains(read))
        return where + ": missing message";
    }
    if (!computed.emplace(key_of(e.turn), k).second) return where + ": a turn twice";
  }
  const std::size_t borders = static_cast<std::size_t>(shape.all_chunks() - 1) *
                              static_cast<std::size_t>(shape.micro_steps);
  const bool trains = std::ranges::any_of(events, [](const auto& e) { return e.turn.is_backward; });
  if (computed.size() != turns) return "the number of turns";
  return told.size() == borders * (trains ? 2 : 1) ? "" : "the number of messages";
}

std::size_t count_of_turns(const std::vector<std::vector<Turn>>& stages) {
  std::size_t all = 0;
  for (const auto& turns : stages) all += turns.size();
  return all;
}

/// A shape and what its turns take.
struct DrawnSchedule {
  PipelineShape shape;
  std::vector<TurnTimes> times;  // of each chunk
  bool trains = true;
  explicit DrawnSchedule(std::mt19937& random) {
    const auto draw = [&](int from, int to) {
      return std::uniform_int_distribution<int>(from, to)(random);
    };
    shape.stages = draw(2, 7);
    shape.chunks = draw(1, 3);
    shape.micro_steps = shape.chunks == 1 ? draw(1, 12) : shape.stages * draw(1, 2);
    for (int c = 0; c < shape.all_chunks(); ++c)
      times.push_back({static_cast<double>(draw(1, 4)), static_cast<double>(draw(1, 9))});
    trains = draw(0, 9) > 0;
  }
  std::vector<std::vector<Turn>> turns() const {
    return trains ? turns_of_step(shape, schedule_of(shape)) : turns_of_evaluation(shape);
  }
  std::vector<PipelineEvent> events() const {
    return events_of(shape, timed(shape, turns(), times));
  }
};

std::string words(const DrawnSchedule& of) {
  return std::to_string(of.shape.stages) + " stages, " + std::to_string(of.shape.chunks) +
         " chunks, " + std::to_string(of.shape.micro_steps) + " micro-steps";
}

}  // namespace

TEST_CASE("1F1B has a forward ahead for each stage behind, then one forward and one backward") {
  const auto stages = turns_of_step({3, 1, 4}, PipelineSchedule::one_f_one_b);
  REQUIRE(stages.size() == 3);
  CHECK(words(stages[0]) == "F0.0 F0.1 F0.2 B0.0 F0.3 B0.1 B0.2 B0.3");
  CHECK(words(stages[1]) == "F1.0 F1.1 B1.0 F1.2 B1.1 F1.3 B1.2 B1.3");
  CHECK(words(stages[2]) == "F2.0 B2.0 F2.1 B2.1 F2.2 B2.2 F2.3 B2.3");
}

TEST_CASE("interleaved stages go through as many micro-steps as stages, chunk after chunk") {
  const auto stages = turns_of_step({2, 2, 4}, PipelineSchedule::interleaved);
  REQUIRE(stages.size() == 2);
  CHECK(words(stages[0]) ==
        "F0.0 F0.1 F2.0 F2.1 F0.2 B2.0 F0.3 B2.1 F2.2 B0.0 F2.3 B0.1 B2.2 B2.3 B0.2 B0.3");
  CHECK(words(stages[1]) ==
        "F1.0 F1.1 F3.0 B3.0 F3.1 B3.1 F1.2 B1.0 F1.3 B1.1 F3.2 B3.2 F3.3 B3.3 B1.2 B1.3");
}

TEST_CASE("a stage has as many forwards ahead, and as much under way, as its place says") {
  for (const PipelineShape& shape : some_shapes()) {
    const auto stages = turns_of_step(shape, schedule_of(shape));
    for (int s = 0; s < shape.stages; ++s) {
      CAPTURE(shape.stages, shape.chunks, shape.micro_steps, s);
      const int behind = shape.stages - 1 - s;
      const int ahead = shape.chunks == 1 ? behind : 2 * behind + (shape.chunks - 1) * shape.stages;
      const int expected = std::min(ahead + 1, shape.chunks * shape.micro_steps);
      const auto& turns = stages[static_cast<std::size_t>(s)];
      CHECK(forwards_before_backward(turns) == expected);
      CHECK(most_under_way(turns) == expected);
      if (shape.chunks == 1) CHECK(most_under_way(turns) <= shape.stages - s);
    }
  }
}

TEST_CASE("each chunk of each micro-step is computed once forward and once backward on its stage") {
  for (const PipelineShape& shape : some_shapes())
    for (const bool trains : {true, false}) {
      CAPTURE(shape.stages, shape.chunks, shape.micro_steps, trains);
      const auto stages = trains ? turns_of_step(shape, schedule_of(shape))
                                 : turns_of_evaluation(shape);
      REQUIRE(static_cast<int>(stages.size()) == shape.stages);
      std::map<Key, int> seen;
      bool on_their_stage = true;
      for (int s = 0; s < shape.stages; ++s)
        for (const Turn& t : stages[static_cast<std::size_t>(s)]) {
          on_their_stage &= shape.stage_of(t.chunk) == s;
          ++seen[key_of(t)];
        }
      CHECK(on_their_stage);
      CHECK(static_cast<int>(seen.size()) ==
            shape.all_chunks() * shape.micro_steps * (trains ? 2 : 1));
      for (const auto& [turn, times] : seen) {
        CHECK(times == 1);
        CHECK((trains || !std::get<0>(turn)));
        CHECK((std::get<1>(turn) >= 0 && std::get<1>(turn) < shape.all_chunks()));
        CHECK((std::get<2>(turn) >= 0 && std::get<2>(turn) < shape.micro_steps));
      }
    }
}

TEST_CASE("stages idle as long as the formulas of 1F1B and of interleaved schedules say") {
  for (const PipelineShape& shape : some_shapes())
    for (const double backward : {1.0, 2.0, 3.0}) {
      CAPTURE(shape.stages, shape.chunks, shape.micro_steps, backward);
      const auto turns = timed(shape, turns_of_step(shape, schedule_of(shape)), {1, backward});
      double end = 0;
      for (const auto& stage : turns) end = std::max(end, stage.back().end);
      // times are whole numbers: the sums are exact
      const int busy = shape.chunks * shape.micro_steps, idle = shape.stages - 1;
      CHECK(end == (busy + idle) * (1 + backward));
      CHECK(std::abs(idle_share(turns) - static_cast<double>(idle) / (busy + idle)) <= 1e-12);
    }
}

TEST_CASE("the turns of a stage do not overlap, and begin behind what they read") {
  for (const PipelineShape& shape : some_shapes()) {
    CAPTURE(shape.stages, shape.chunks, shape.micro_steps);
    const auto stages = timed(shape, turns_of_step(shape, schedule_of(shape)), {2, 5});
    std::map<Key, double> ends;
    for (const auto& stage : stages)
      for (const TimedTurn& t : stage) ends[key_of(t)] = t.end;
    for (const auto& stage : stages)
      for (std::size_t k = 0; k < stage.size(); ++k) {
        CHECK(stage[k].end - stage[k].begin == (stage[k].is_backward ? 5 : 2));
        if (k > 0) CHECK(stage[k].begin >= stage[k - 1].end);
        for (const Key& read : reads(shape, stage[k])) CHECK(stage[k].begin >= ends.at(read));
      }
  }
}

TEST_CASE("an evaluation goes through all chunks of a micro-step, then of the next") {
  const auto stages = turns_of_evaluation({2, 2, 2});
  REQUIRE(stages.size() == 2);
  CHECK(words(stages[0]) == "F0.0 F2.0 F0.1 F2.1");
  CHECK(words(stages[1]) == "F1.0 F3.0 F1.1 F3.1");
}

TEST_CASE("each message comes behind its turn and before its reader") {
  for (const PipelineShape& shape : some_shapes())
    for (const bool trains : {true, false})
      for (const TurnTimes times : {TurnTimes{1, 2}, TurnTimes{1, 3}, TurnTimes{3, 1}}) {
        CAPTURE(shape.stages, shape.chunks, shape.micro_steps, trains, times.backward);
        const auto turns = trains ? turns_of_step(shape, schedule_of(shape))
                                  : turns_of_evaluation(shape);
        CHECK(problem_of_events(shape, events_of(shape, timed(shape, turns, times)),
                                count_of_turns(turns)) == "");
      }
}

TEST_CASE("each stage computes its turns in the order of its schedule") {
  for (const PipelineShape& shape : some_shapes()) {
    CAPTURE(shape.stages, shape.chunks, shape.micro_steps);
    const auto turns = turns_of_step(shape, schedule_of(shape));
    std::vector<std::vector<Turn>> of_events(turns.size());
    for (const PipelineEvent& e : events_of(shape, timed(shape, turns, {1, 2})))
      if (!e.is_message)
        of_events[static_cast<std::size_t>(shape.stage_of(e.turn.chunk))].push_back(e.turn);
    CHECK(of_events == turns);
  }
}

TEST_CASE("10,000 drawn schedules with messages that block never stand still") {
  const unsigned seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int k = 0; k < 10'000; ++k) {
    const DrawnSchedule drawn(random);
    const auto events = drawn.events();
    INFO(words(drawn));
    REQUIRE(problem_of_events(drawn.shape, events, count_of_turns(drawn.turns())) == "");
    REQUIRE(toy::run_blocking(toy::messages_by_stage(drawn.shape, events)) == Outcome::ends);
  }
}

TEST_CASE("with two neighbouring messages of a stage exchanged, some of 1,000 stand still") {
  const unsigned seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  std::map<Outcome, int> outcomes;
  for (int tried = 0; tried < 1'000;) {
    const DrawnSchedule drawn(random);
    auto stages = toy::messages_by_stage(drawn.shape, drawn.events());
    auto& messages = stages[random() % stages.size()];
    if (messages.size() < 2) continue;
    const std::size_t at = random() % (messages.size() - 1);
    std::swap(messages[at], messages[at + 1]);
    ++outcomes[toy::run_blocking(stages)];
    ++tried;
  }
  CAPTURE(outcomes[Outcome::ends], outcomes[Outcome::gets_another]);
  CHECK(outcomes[Outcome::stands_still] > 0);
}

TEST_CASE("two stages that both send first, or both receive first, stand still") {
  const toy::MessageEnd to_next{true, 1, 0}, from_first{false, 0, 0}, to_first{true, 0, 1},
      from_next{false, 1, 1};
  CHECK(toy::run_blocking({{to_next, from_next}, {from_first, to_first}}) == Outcome::ends);
  CHECK(toy::run_blocking({{to_next, from_next}, {to_first, from_first}}) == Outcome::stands_still);
  CHECK(toy::run_blocking({{from_next, to_next}, {from_first, to_first}}) == Outcome::stands_still);
}

TEST_CASE("a turn waits for the message that it reads, and takes as long as its chunk") {
  const PipelineShape shape{2, 1, 1};
  const std::vector<TurnTimes> of_chunks{{1, 3}, {2, 5}};
  const auto turns =
      timed(shape, turns_of_step(shape, PipelineSchedule::one_f_one_b), of_chunks, 0.5);
  REQUIRE(turns[1].size() == 2);
  CHECK(turns[1][0].begin == 1.5);
  CHECK(turns[1][1].end == 1.5 + 2 + 5);
  REQUIRE(turns[0].size() == 2);
  CHECK(turns[0][1].begin == 8.5 + 0.5);
  CHECK(turns[0][1].end == 9 + 3);
}

TEST_CASE("shapes that a schedule does not have, and turns that wait for each other, throw") {
  CHECK_THROWS_AS(turns_of_step({2, 2, 4}, PipelineSchedule::one_f_one_b), InternalError);
  CHECK_THROWS_AS(turns_of_step({4, 2, 6}, PipelineSchedule::interleaved), InternalError);
  CHECK_NOTHROW(turns_of_step({4, 1, 6}, PipelineSchedule::one_f_one_b));
  CHECK_NOTHROW(turns_of_evaluation({4, 2, 6}));
  auto turns = turns_of_step({2, 1, 2}, PipelineSchedule::one_f_one_b);
  std::ranges::reverse(turns[1]);
  CHECK_THROWS_AS(timed({2, 1, 2}, turns, {1, 2}), InternalError);
}

}  // namespace pipeline_turns_test
