#include "small_run.hpp"
#include "tensor/allocator_meter.hpp"
#include "program/check.hpp"
#include "program/operations.hpp"
#include "execute/host_update.hpp"
#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <thread>
#include "support/catch.hpp"

namespace trainx::train::executor_test {
namespace {

plan::PlacedProgram replaced(const plan::PlacedProgram& like, program::StepProgram p) {
  plan::PlacedProgram placed{like.graph, std::move(p), {}, {}};
  placed.placement = program::plan_memory(placed.program);
  placed.order = program::derive_order(placed.program, placed.placement);
  return placed;
}

std::string problem_of(const plan::RunPlan& plan, const plan::PlacedProgram& placed) {
  program::Reference reference{&plan.role().train[0].graph, plan.update,
                               static_cast<int>(plan.batch.grad_accum_steps)};
  reference.update_in_backward = plan.recipe.optimizer.update_in_backward;
  return program::check_program(placed.program, placed.placement, &reference);
}

}  // namespace

TEST_CASE(
    "deleting or swapping instructions of a real program is refused or changes the result; "
    "swapping independent ones changes no bit") {
  for (const char* level : {"none", "full"}) {
    const auto plan = small_plan({.layers = 1, .activation_checkpoint = level});
    const auto want = SmallRun(plan).run(2);
    const auto& steady = plan.role().train[0].program.steady;
    int refused = 0, differ = 0, equal = 0;
    for (std::size_t i = 0; i < steady.size(); ++i) {
      if (steady[i].op == program::Op::report) continue;  // only the host would miss it
      auto p = plan.role().train[0].program;
      p.steady.erase(p.steady.begin() + static_cast<std::ptrdiff_t>(i));
      const auto placed = replaced(plan.role().train[0], p);
      INFO(level << ": deleted instruction " << i << " " << program::name_of(steady[i].op));
      if (!problem_of(plan, placed).empty())
        ++refused;
      else if (SmallRun(plan, &placed).run(2) != want)
        ++differ;
      else
        FAIL("nobody noticed");
    }
    for (std::size_t i = 0; i + 1 < steady.size(); ++i) {
      auto p = plan.role().train[0].program;
      std::swap(p.steady[i], p.steady[i + 1]);
      const auto placed = replaced(plan.role().train[0], p);
      INFO(level << ": swapped instructions " << i << " " << program::name_of(steady[i].op)
                 << " and " << program::name_of(steady[i + 1].op));
      const bool sound = problem_of(plan, placed).empty();
      if (!program::meet(steady[i], steady[i + 1])) {
        REQUIRE(sound);
        REQUIRE(SmallRun(plan, &placed).run(2) == want);
        ++equal;
      } else if (!sound)
        ++refused;
      else if (SmallRun(plan, &placed).run(2) != want)
        ++differ;
      else if (steady[i].op != program::Op::report && steady[i + 1].op != program::Op::report)
        FAIL("nobody noticed");
    }
    CAPTURE(refused, differ, equal);
    CHECK(refused > 10);
    CHECK(equal > 0);
  }
}

TEST_CASE("bytes between two lives may hold anything: filled with NaN they change nothing") {
  for (const char* level : {"none", "selective", "mlp", "full"}) {
    const auto plan = small_plan({.dropout = 0.1, .activation_checkpoint = level});
    const auto want = SmallRun(plan).run(3);
    auto sequential = plan.role().train[0].program;
    for (auto& i : sequential.steady) i.lane = program::Lane::compute;
    const auto placed = replaced(plan.role().train[0], sequential);
    const auto lives = program::lifetimes(placed.program);
    SmallRun run(plan, &placed);
    std::size_t poisoned = 0;
    const auto got = run.run(
        3, {{}, [&](const program::Instruction&, int position) {
              for (std::size_t b = 0; b < lives.size(); ++b)
                for (const auto& life : lives[b])
                  if (!placed.program.buffers[b].resident && life.last == position) {
                    std::memset(run.arena.data() + placed.placement.base[b], 0xFF,
                                static_cast<std::size_t>(placed.program.buffers[b].bytes()));
                    ++poisoned;
                  }
            }});
    CHECK(poisoned > 3 * lives.size() / 2);
    CHECK(got == want);
    for (const auto& r : run.reports) CHECK(std::isfinite(r.loss_sum));
  }
}

TEST_CASE("lanes delayed at random, and checkpoint levels change no bit") {
  const unsigned seed = std::random_device{}();
  CAPTURE(seed);
  const auto want = SmallRun(small_plan({.dropout = 0.1})).run(4);
  for (const char* level : {"none", "selective", "mlp", "full"}) {
    const auto plan = small_plan({.dropout = 0.1, .activation_checkpoint = level});
    const auto got = SmallRun(plan).run(
        4, {[&](program::Lane lane) {
              thread_local std::minstd_rand random(seed + static_cast<unsigned>(lane));
              if (random() % 4 == 0)
                std::this_thread::sleep_for(std::chrono::microseconds(random() % 200));
            },
            {}});
    CHECK(got == want);
  }
}

namespace {

const std::string in_backward =
                      "{type: adamw, lr: 1e-2, max_grad_norm: 0, update_in_backward: true}",
                  at_the_end = "{type: adamw, lr: 1e-2, max_grad_norm: 0}";

}  // namespace

TEST_CASE(
    "updates in backward, activations, weights and an optimizer on the host change no bit, delayed "
    "at random; what they free is another's") {
  const unsigned seed = std::random_device{}();
  CAPTURE(seed);
  const auto delays = [&](program::Lane lane) {
    thread_local std::minstd_rand random(seed + static_cast<unsigned>(lane));
    if (random() % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 200));
  };
  const SmallOptions plain{
      .layers = 5, .micro_batch_size = 4, .dropout = 0.1, .optimizer = at_the_end};
  const auto want = SmallRun(small_plan(plain)).run(4);
  for (const char* level : {"none", "selective", "mlp", "full"})
    for (const std::string& optimizer : {at_the_end, in_backward})
      for (const char* memory :
           {"", "activation_offload: cpu", "optimizer_offload: cpu",
            "activation_offload: cpu, optimizer_offload: cpu", "optimizer_offload: disk",
            "optimizer_offload: {where: disk, read_ahead: 1, share: 0.4}", "parameter_offload: cpu",
            "parameter_offload: cpu, activation_offload: cpu, optimizer_offload: cpu",
            "parameter_offload: cpu, optimizer_offload: {where: disk, share: 0.4}",
            "parameter_offload: disk", "parameter_offload: disk, optimizer_offload: cpu",
            "parameter_offload: disk, activation_offload: cpu, optimizer_offload: {where: disk, "
            "read_ahead: 1, share: 0.4}"}) {
        SmallOptions o = plain;
        o.activation_checkpoint = level, o.optimizer = optimizer, o.memory = memory;
        const auto plan = small_plan(o);
        CAPTURE(level, optimizer, memory);
        SmallRun run(plan);
        CHECK(run.run(4, {delays, {}}) == want);
        for (const auto& r : run.reports) CHECK((std::isfinite(r.norm2) && r.norm2 > 0));
        CHECK((plan.memory.host_bytes > 0) == !o.memory.empty());
        if (o.memory.find("optimizer_offload") != std::string::npos) continue;
        // where memory is fullest without
        const bool keeps_much = std::string(level) == "none",
                   ends_with_gradients = std::string(level) == "full" && optimizer == in_backward;
        o.memory = "", o.optimizer = at_the_end;
        if ((keeps_much && plan.memory.host_bytes > 0) || ends_with_gradients)
          CHECK(plan.memory.arena_bytes < small_plan(o).memory.arena_bytes);
      }
}

TEST_CASE(
    "gradients that leave as bf16 have the same bits on delayed lanes and on a disk, others than "
    "exact ones, and losses near theirs") {
  const unsigned seed = std::random_device{}();
  CAPTURE(seed);
  const auto delays = [&](program::Lane lane) {
    thread_local std::minstd_rand random(seed + static_cast<unsigned>(lane));
    if (random() % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 200));
  };
  for (const char* precision : {"fp32", "bf16"}) {
    SmallOptions o{
        .layers = 3, .dropout = 0.1, .precision = precision, .memory = "optimizer_offload: cpu"};
    SmallRun exact(small_plan(o));
    const auto far = exact.run(4);
    o.memory = "optimizer_offload: {where: cpu, gradients: bf16}";
    SmallRun rounded(small_plan(o));
    const auto want = rounded.run(4);
    CHECK(want != far);
    CHECK(SmallRun(small_plan(o)).run(4, {delays, {}}) == want);
    o.memory = "optimizer_offload: {where: disk, gradients: bf16}";
    CHECK(SmallRun(small_plan(o)).run(4, {delays, {}}) == want);
    for (std::size_t s = 0; s < exact.reports.size(); ++s)
      CHECK(std::abs(rounded.reports[s].loss_sum / exact.reports[s].loss_sum - 1) < 1e-3);
    CHECK(rounded.reports[0].norm2 == exact.reports[0].norm2);  // that of the exact ones
  }
}

TEST_CASE(
    "a gradient that is beyond bf16 when it leaves reaches no weight, though the norm of the exact "
    "ones is finite") {
  const auto plan = small_plan({.memory = "optimizer_offload: {where: cpu, gradients: bf16}"});
  const plan::PlacedProgram& placed = plan.role().train[0];
  const auto update =
      std::ranges::find(placed.program.steady, program::Op::update, &program::Instruction::op);
  REQUIRE(update != placed.program.steady.end());
  std::map<program::BufferId, std::vector<std::byte>> memory;
  for (const program::Use& u : update->uses)
    memory[u.buffer].resize(static_cast<std::size_t>(program::bytes_of(placed.program, u)));
  const auto address = [&](const program::Use& u) { return memory.at(u.buffer).data(); };
  const auto number = [&](program::Slot slot) -> double& {
    return *reinterpret_cast<double*>(address(program::use_of(*update, slot)));
  };
  auto& gradient = *reinterpret_cast<std::uint16_t*>(
      address(program::use_of(*update, program::UpdateSlot::gradient)));
  const auto optimizer = optim::make_optimizer(plan.recipe.optimizer.options);
  execute::ExecutorParts parts;
  parts.optimizer = optimizer.get();
  const program::LocalGroup own =
      execute::own_groups(placed, 0)[static_cast<std::size_t>(update->group)];
  number(program::UpdateSlot::target_count) = 1;
  gradient = 0x7f80;  // infinity, of an fp32 gradient of 3.4e38
  number(program::UpdateSlot::norm2) = 3.4e38 * 3.4e38;
  const auto before = memory;
  update_on_host(placed, *update, own, address, parts);
  CHECK((memory == before));  // bytes are not printed
  gradient = 0x7f7f;          // the largest that bf16 holds
  number(program::UpdateSlot::norm2) = 0x1.fep127 * 0x1.fep127;
  update_on_host(placed, *update, own, address, parts);
  CHECK(memory.at(program::use_of(*update, program::UpdateSlot::first_state).buffer) !=
        before.at(program::use_of(*update, program::UpdateSlot::first_state).buffer));
}

TEST_CASE(
    "deleting an instruction of an update in backward or of a copy to the host is refused, or "
    "changes the result") {
  const auto plan = small_plan({.layers = 4,
                                .micro_batch_size = 4,
                                .optimizer = in_backward,
                                .memory = "activation_offload: cpu"});
  const auto& steady = plan.role().train[0].program.steady;
  int deleted = 0;
  for (std::size_t i = 0; i < steady.size(); ++i) {
    if (steady[i].op != program::Op::copy && steady[i].op != program::Op::update &&
        steady[i].op != program::Op::grad_norm)
      continue;
    auto p = plan.role().train[0].program;
    p.steady.erase(p.steady.begin() + static_cast<std::ptrdiff_t>(i));
    INFO("deleted instruction " << i << " " << program::name_of(steady[i].op));
    CHECK(problem_of(plan, replaced(plan.role().train[0], p)) != "");
    ++deleted;
  }
  CHECK(deleted > 30);
}

TEST_CASE(
    "with updates in backward a non-finite gradient reaches no weight, and the report tells of "
    "it") {
  const auto plan = small_plan({.micro_batch_size = 4, .optimizer = in_backward});
  SmallRun run(plan);
  reinterpret_cast<float*>(run.arena.data() + run.placed.placement.base[0])[3] =
      std::numeric_limits<float>::infinity();
  const auto weights = [&] {
    std::vector<std::byte> out;
    for (std::size_t b = 0; b < run.placed.program.buffers.size(); ++b)
      if (const auto& buffer = run.placed.program.buffers[b];
          buffer.role == program::Role::parameter)
        out.insert(out.end(), run.arena.data() + run.placed.placement.base[b],
                   run.arena.data() + run.placed.placement.base[b] + buffer.bytes());
    return out;
  };
  const auto before = weights();
  run.run(1);
  CHECK(weights() == before);
  CHECK(run.reports.back().applied_steps == 0);
  CHECK_FALSE(std::isfinite(run.reports.back().norm2));
}

TEST_CASE(
    "the highest byte that a step writes is the plan's peak, less alignment; ATen's own memory "
    "stays under the plan's line") {
  tensor::install_allocator_meter();
  for (const char* precision : {"fp32", "bf16"})
    for (const char* level : {"none", "full"}) {
      CAPTURE(precision, level);
      const auto plan = small_plan({.precision = precision, .activation_checkpoint = level});
      constexpr std::int64_t spare = 1 << 20;
      SmallRun run(plan, nullptr, spare);
      run.run(1);  // libraries make their workspaces once
      std::int64_t top = run.arena.bytes();
      const auto* bytes = reinterpret_cast<const unsigned char*>(run.arena.data());
      while (top > 0 && bytes[top - 1] == 0xFF) --top;
      const std::int64_t peak = plan.role().train[0].placement.peak_of(program::Space::device);
      CHECK(top <= peak);
      CHECK(top > peak - 256);
      tensor::reset_allocator_peak();
      const auto before = tensor::allocator_bytes().current;
      run.run(2);
      CHECK(tensor::allocator_bytes().peak - before <= plan.memory.library_bytes);
    }
}

TEST_CASE("the losses do not depend on how the global batch is cut") {
  std::vector<double> want;
  for (const int micro : {4, 2, 1}) {
    const auto plan = small_plan({.micro_batch_size = micro, .dropout = 0.2});
    SmallRun run(plan);
    run.run(5);
    for (std::size_t s = 0; s < run.reports.size(); ++s) {
      const double loss = run.reports[s].loss_sum / run.reports[s].target_count;
      if (micro == 4)
        want.push_back(loss);
      else if (!(std::abs(loss - want[s]) <= 1e-5 * want[s]))
        FAIL("micro-batch " << micro << ", step " << s << ": " << loss << " instead of "
                            << want[s]);
    }
    REQUIRE(run.reports.size() == 5);
  }
}

TEST_CASE("a non-finite gradient reaches neither weights nor applied steps") {
  const auto plan = small_plan({});
  SmallRun run(plan);
  auto* parameter = reinterpret_cast<float*>(run.arena.data() + run.placed.placement.base[0]);
  parameter[3] = std::numeric_limits<float>::infinity();
  const auto before = std::vector<std::byte>(
      run.arena.data(), run.arena.data() + run.placed.program.buffers[0].bytes());
  run.run(2);
  CHECK(std::memcmp(before.data(), run.arena.data(), before.size()) == 0);
  CHECK(run.reports.back().applied_steps == 0);
}

}  // namespace trainx::train::executor_test
