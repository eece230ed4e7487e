#include "program/time.hpp"
#include "core/hopper_kernels.hpp"
#include "program/launch.hpp"
#include "support/toy/programs.hpp"
#include "support/catch.hpp"

namespace time_test {

using namespace toy;

namespace {

#if __has_include(<catch2/catch_test_macros.hpp>)
using approx = Catch::Approx;
#else
using approx = Catch::Detail::Approx;
#endif

/// One second for each four bytes that a copy moves; nothing else takes time.
const Rates only_copies{"test", "", 0, 0, 0, 4, 0, 0, 0};

StepProgram copies(std::initializer_list<std::pair<Lane, Bytes>> list) {
  StepProgram p;
  for (const auto& [lane, bytes] : list) {
    const BufferId from = add_buffer(
                       p, {.name = "a", .dtype = DType::u8, .elements = bytes, .resident = true}),
                   to = add_buffer(p, {.name = "b", .dtype = DType::u8, .elements = bytes});
    p.steady.push_back(
        {Op::copy,
         none,
         none,
         lane,
         {Use{from, How::read, CopySlot::from}, Use{to, How::overwrite, CopySlot::to}}});
  }
  return p;
}

TimePrediction time_of(const StepProgram& p, const Rates& rates, const ModelGraph& graph = {}) {
  return predict_time(p, derive_order(p, unplaced(p)), graph, rates);
}

}  // namespace

TEST_CASE("lanes run beside each other, and after each other where bytes meet") {
  StepProgram p = copies({{Lane::copy_in, 12}, {Lane::copy_out, 20}});
  CHECK(time_of(p, only_copies).step_s == approx(5));
  CHECK(time_of(p, only_copies).bottleneck == "copy_out");
  CHECK(time_of(p, only_copies).busy_s[static_cast<int>(Lane::copy_in)] == approx(3));
  // reads what the other writes, and the next step's write waits for it
  p.steady[1].uses[0].buffer = p.steady[0].uses[1].buffer;
  CHECK(time_of(p, only_copies).step_s == approx(8));
}

TEST_CASE(
    "a block takes its products at the GEMM rate, attention at its own, operands at the memory's; "
    "a recomputation its part") {
  ModelGraph graph = chain(1, true);
  Phase& forward = graph.blocks[1].phases[Op::forward];
  forward.gemms = {{10, 20, 30, 2, 2}, {1, 1, 100, 1, 6}};  // of slots out and z
  forward.attention_flops = 500;
  forward.attention_output = 2;
  const StepProgram p = plain_program(graph, momentum());
  const Rates rates{"test", "", 100, 50, 48, 0, 0, 0, 0.25};
  const Instruction& i = p.steady[2];
  const double operands = 5;  // h0 w h1 u z of 48 bytes
  CHECK(duration_s(i, p, graph, rates) ==
        approx((24000 + 200) / 100.0 + 500 / 50.0 + operands + 0.25));
  Instruction r = i;
  r.op = Op::recompute;
  std::erase_if(r.uses, [](const Use& u) { return u.slot == 2; });
  CHECK(duration_s(r, p, graph, rates) == approx(200 / 100.0 + 4 + 0.25));
  // update modifies m and w
  CHECK(duration_s(p.steady[8], p, graph, rates) ==
        approx(0.25 + (48 + 8 + 8 + 8 + 32 + 96 + 96) / 48.0));
  CHECK(time_of(p, rates, graph).bottleneck == "compute: matrix products");
}

TEST_CASE(
    "steps that are launched one by one wait for the host, from the end of the step before on") {
  const StepProgram p = copies({{Lane::copy_in, 12}, {Lane::copy_out, 20}});
  Rates rates = only_copies;
  rates.host_kernel_s = 0.5;  // the second is launched after a second
  CHECK(time_of(p, rates).step_s == approx(6));
  CHECK(time_of(p, rates).bottleneck == "copy_out");
  rates.host_kernel_s = 30;
  CHECK(time_of(p, rates).step_s == approx(60 + 5));
  CHECK(time_of(p, rates).bottleneck == "host: launches");
}

TEST_CASE("micro-steps that are left out take what they compute, whatever copies run ahead") {
  const std::pair<Lane, Bytes> work{Lane::compute, 16}, ahead{Lane::copy_out, 4};
  StepProgram some = copies({work, ahead, work, ahead, work, ahead}),
              all = copies({work, ahead, work, ahead, work, ahead, work, ahead, work, ahead});
  for (StepProgram* p : {&some, &all})
    for (std::size_t k = 0; k < p->steady.size(); ++k) p->steady[k].micro = static_cast<int>(k / 2);
  some.repeated_micro = 1, some.repeats = 2;
  Rates rates = only_copies;
  rates.memory_bytes_per_s = 4;
  const TimePrediction whole = time_of(all, rates);
  REQUIRE(whole.busy_s[static_cast<int>(Lane::compute)] == approx(whole.step_s));
  CHECK(time_of(some, rates).step_s == approx(whole.step_s));
}

TEST_CASE("an update takes its kernels' own rates, and all that follow each other one launch") {
  const ModelGraph graph = chain(1, true);
  const StepProgram p = plain_program(graph, momentum());
  const Instruction& update = p.steady[8];
  REQUIRE(update.op == Op::update);
  REQUIRE(p.steady[9].op == Op::update);
  Rates rates{"test", "", 100, 50, 48, 0, 0, 0, 0.25};
  constexpr double bytes = 48 + 8 + 8 + 8 + 32 + 96 + 96;  // of 12 elements; m and w are modified
  CHECK(duration_s(update, p, graph, rates) == approx(0.25 + bytes / 48));
  rates.memory_bytes_per_s = 24;
  CHECK(duration_s(update, p, graph, rates) == approx(0.25 + bytes / 24));
  rates.update.reads_twice = true;
  CHECK(duration_s(update, p, graph, rates) == approx(0.25 + (bytes + 96) / 24));
  rates.update.element_s = 10;  // longer than memory takes
  CHECK(duration_s(update, p, graph, rates) == approx(0.25 + 120));
  rates.update.element_s = 0.1;
  CHECK(duration_s(update, p, graph, rates) == approx(0.25 + (bytes + 96) / 24));
  rates.kernel_s = 1;
  rates.update.kernels = 3;
  // a launch is part of what a kernel takes
  CHECK(duration_s(update, p, graph, rates) == approx(3 + (bytes + 96) / 24));
  const double three = time_of(p, rates, graph).step_s;
  rates.update.kernels = 1;
  CHECK(three - time_of(p, rates, graph).step_s == approx(2));
}

TEST_CASE("few rows of heads take attention longer than their share") {
  Phase phase;
  phase.attention_flops = 600;
  phase.attention_head = 64;
  phase.attention_rows = 100;
  Rates rates{"test", "", 0, 100, 0, 0, 0, 0, 0};
  CHECK(attention_s(phase, rates) == approx(6));
  rates.attention_fill_rows = 50;
  CHECK(attention_s(phase, rates) == approx(9));
  phase.attention_rows = 50;
  CHECK(attention_s(phase, rates) == approx(12));
}

TEST_CASE("the update on the host hides behind the next forward") {
  const Example c = examples()[2];
  const StepProgram staged = c.roles().programs[0];
  const Rates rates{"test", "", 0, 0, 48, 96, 0, 0, 0};
  const TimePrediction t = time_of(staged, rates, c.graph);
  double sum = 0;
  for (const double s : t.busy_s) sum += s;
  CHECK(t.step_s < 0.9 * sum);
  CHECK(t.step_s >= *std::max_element(t.busy_s.begin(), t.busy_s.end()) * (1 - 1e-9));
}

TEST_CASE(
    "an update on the host takes the host's memory, which is that fast as copies where it is not "
    "known") {
  const ModelGraph graph = chain(1, true);
  const StepProgram p = plain_program(graph, momentum());
  Instruction update = p.steady[8];
  REQUIRE(update.op == Op::update);
  update.lane = Lane::host;
  Rates rates{"test", "", 100, 50, 48, 24, 0, 0, 0.25};
  constexpr double bytes = 48 + 8 + 8 + 8 + 32 + 96 + 96;  // m and w are modified
  CHECK(duration_s(update, p, graph, rates) == approx(0.25 + bytes / 24));
  rates.host_update_bytes_per_s = 60;
  CHECK(duration_s(update, p, graph, rates) == approx(0.25 + bytes / 60));
  rates.host_update_bytes_per_s = 120;
  CHECK(duration_s(update, p, graph, rates) == approx(0.25 + bytes / 120));
  CHECK(duration_s(p.steady[8], p, graph, rates) == approx(0.25 + bytes / 48));  // on the device
}

TEST_CASE(
    "what the host updates runs beside the next step's beginning, where a launch ends before it") {
  // 3 s of copying in, 4 s of copying out what the host then takes 10 s for: the next launch copies
  // in meanwhile, and out when the host has read what was there.
  StepProgram p;
  const auto buffer = [&](const char* name, std::int64_t elements) {
    return add_buffer(p, {.name = name, .elements = elements, .resident = true});
  };
  const BufferId batch = buffer("batch", 3), hidden = buffer("hidden", 2),
                 gradient = buffer("gradient", 4), weights = buffer("weights", 6);
  const auto add = [&](Op op, Lane lane, BufferId from, BufferId to) {
    p.steady.push_back({op,
                        none,
                        none,
                        lane,
                        {{from, How::read, CopySlot::from}, {to, How::overwrite, CopySlot::to}}});
  };
  add(Op::copy, Lane::copy_in, batch, hidden);
  add(Op::copy, Lane::copy_out, hidden, gradient);
  add(Op::report, Lane::compute, hidden, batch);
  add(Op::update, Lane::host, gradient, weights);
  const Order order = derive_order(p, unplaced(p));
  const Rates& rates = only_copies;
  CHECK(launch_begin(p) == 3);
  CHECK(predict_time(p, order, {}, rates).step_s == approx(14));
  // no host, no launch that goes over the step's end
  p.steady.back().lane = Lane::copy_out;
  CHECK(launch_begin(p) == 0);
  CHECK(predict_time(p, derive_order(p, unplaced(p)), {}, rates).step_s == approx(13));
}

TEST_CASE("products of experts have rates of their own, on Hopper of other kernels") {
  Rates rates;
  rates.gemm_flops_per_s = 100;
  Gemm g{.m = 10, .n = 512, .k = 24};
  const auto time = [&](const Gemm& of) { return product_time(of, DType::bf16, rates).seconds; };
  const double flops = 2.0 * 10 * 512 * 24;
  g.of_experts = true;
  CHECK(time(g) == approx(flops / 100));
  rates.experts_flops_per_s = 50;
  CHECK(time(g) == approx(flops / 50));
  rates.hopper_experts_flops_per_s = 80;
  CHECK(time(g) == approx(flops / (has_hopper_kernels ? 80 : 50)));
  CHECK(product_time(g, DType::f32, rates).seconds == approx(flops / 50));
  g.k = 23;  // rows that are no multiple of 16 bytes
  CHECK(time(g) == approx(flops * 23 / 24 / 50));
  // the sum of a weight gradient is of any length
  g.a_transposed = true, g.m = 24;
  CHECK(time(g) == approx(2.0 * 24 * 512 * 23 / (has_hopper_kernels ? 80 : 50)));
}

}  // namespace time_test
