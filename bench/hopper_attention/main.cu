// Checks and times the Hopper attention; needs a GPU of compute capability 9.0.
//   hopper_attention            all groups, each in a process of its own with a time limit, so that
//                               a fault or a hang in one does not keep the others from running
//   hopper_attention GROUP      one of: boxes products moves forward backward backward_128 narrow
//                               dropped spans lengths repeats times
// Ends with 0 if all checks are good. Times are medians; TFLOP/s count 4 T^2 D a head and pass
// forward, 10 T^2 D backward, half of that if causal.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>
#include "bench/hopper_attention/groups.hpp"
#include "bench/hopper_attention/parts.cuh"
#include "bench/hopper_attention/reference.cuh"
#include "bench/hopper_attention/shape.hpp"

namespace trainx::bench {

namespace {

/// Random operands of a shape and room for all results.
struct Operands {
  Shape shape;
  hopper::Size size;
  Device<Bf16> qkv, out, d_out, d_qkv;
  Device<float> lse;
  Device<std::int32_t> starts, lengths;
  Device<std::int64_t> positions;
  Device<unsigned char> workspace;

  Operands(const Shape& of, std::uint64_t seed)
      : shape(of),
        size(of.size()),
        qkv(random_qkv(of, seed)),
        out(of.elements()),
        d_out(random(of.elements(), seed + 1)),
        d_qkv(of.all_elements()),
        lse(of.rows()),
        starts(of.document > 0 ? of.starts(seed + 2) : std::vector<std::int32_t>(1)),
        lengths(of.lengths(seed + 3)),
        positions(of.positions()),
        workspace(hopper::workspace_bytes(of.size())) {}

  static std::vector<Bf16> random(std::size_t count, std::uint64_t seed) {
    Random numbers(seed);
    std::vector<Bf16> to(count);
    for (Bf16& x : to) x = bf16(numbers.normal());
    return to;
  }
  static std::vector<Bf16> random_qkv(const Shape& of, std::uint64_t seed) {
    std::vector<Bf16> to = random(of.all_elements(), seed);
    const auto scale_part = [&](int part, auto factor) {
      const hopper::Rows<Bf16> rows = part_of(of, to.data(), part);
      for (std::int64_t b = 0; b < of.batch; ++b)
        for (std::int64_t t = 0; t < of.tokens; ++t)
          for (std::int64_t h = 0; h < of.heads_of(part); ++h)
            for (std::int64_t d = 0; d < of.head_size; ++d) {
              Bf16& x = rows.data[b * rows.batch + t * rows.token + h * rows.head + d];
              x = bf16(trainx::kernels::widened(x) * factor(t));
            }
    };
    if (of.query_scale != 1) scale_part(0, [&](std::int64_t) { return of.query_scale; });
    if (of.growing)
      scale_part(1, [&](std::int64_t t) {
        return 0.05f + 4.0f * static_cast<float>(of.tokens - static_cast<int>(t)) /
                           static_cast<float>(of.tokens);
      });
    return to;
  }
  template <class T>
  static hopper::Rows<T> part_of(const Shape& shape, T* data, int which) {
    if (shape.packed) return hopper::packed_rows(data, which, shape.size());
    const std::size_t before =
        which == 0 ? 0
                   : shape.elements(0) + static_cast<std::size_t>(which - 1) * shape.elements(1);
    const std::int64_t tokens = shape.tokens, D = shape.head_size;
    return {data + before, shape.heads_of(which) * tokens * D, D, tokens * D};
  }
  template <class T>
  hopper::Rows<T> part(T* data, int which) const {
    return part_of(shape, data, which);
  }
  hopper::Forward forward() const {
    const Bf16* const in = qkv.get();
    hopper::Forward pass;
    pass.query = part(in, 0), pass.key = part(in, 1), pass.value = part(in, 2);
    pass.out = hopper::plain_rows(out.get(), size), pass.lse = lse.get();
    pass.starts = documents(), pass.lengths = samples(), pass.dropout = dropout();
    return pass;
  }
  hopper::Backward backward() const {
    const Bf16 *const in = qkv.get(), *const o = out.get(), *const dy = d_out.get();
    hopper::Backward pass;
    pass.query = part(in, 0), pass.key = part(in, 1), pass.value = part(in, 2);
    pass.out = hopper::plain_rows(o, size), pass.d_out = hopper::plain_rows(dy, size);
    pass.lse = lse.get();
    pass.d_query = part(d_qkv.get(), 0), pass.d_key = part(d_qkv.get(), 1),
    pass.d_value = part(d_qkv.get(), 2);
    pass.workspace = workspace.get();
    pass.starts = documents(), pass.lengths = samples(), pass.dropout = dropout();
    return pass;
  }
  const std::int32_t* documents() const { return shape.document > 0 ? starts.get() : nullptr; }
  const std::int32_t* samples() const { return shape.padded ? lengths.get() : nullptr; }
  trainx::kernels::AttentionDropout dropout() const {
    if (!shape.dropped) return {};
    return {positions.get(), 0x0123456789abcdef, 0x305, 6554, 65536 / (65536 - 6554.0f)};
  }
};

/// Exact results of operands, on the device.
struct ExactResults {
  Device<double> out, lse, d_query, d_key, d_value;
  explicit ExactResults(const Operands& of)
      : out(of.shape.elements()),
        lse(of.shape.rows()),
        d_query(of.shape.elements()),
        d_key(of.shape.elements(1)),
        d_value(of.shape.elements(1)) {}
  Exact pointers() const {
    return {out.get(), lse.get(), d_query.get(), d_key.get(), d_value.get()};
  }
};

/// Token and column d of element i of a part's [B, T, H or K, D].
auto token_of(const Operands& of, int part = 0) {
  return [&of, part](std::size_t i) {
    const auto D = static_cast<std::size_t>(of.shape.head_size),
               H = static_cast<std::size_t>(of.shape.heads_of(part)),
               T = static_cast<std::size_t>(of.shape.tokens);
    return std::pair<long, long>(static_cast<long>(i / (D * H) % T), static_cast<long>(i % D));
  };
}

// What rounding of weights and results to bf16 leaves: 2^-9 each, so 0.4 % of the rms; single
// values may be off by more where large weights cancel.
constexpr double rms_allowed = 0.008, of_rms = 0.15, of_value = 0.03;

bool check_forward(const Shape& shape) {
  Operands operands(shape, 7);
  ExactResults exact(operands);
  operands.out.spoil(), operands.lse.spoil();
  require(hopper::attention_forward(operands.forward(), operands.size, nullptr),
          "attention_forward");
  const std::vector<Bf16> out = operands.out.host();
  const std::vector<float> lse = operands.lse.host();
  reference_forward(operands.forward(), operands.size, exact.pointers());
  const Difference of_out = compare(
      "out", exact.out.host(), [&](std::size_t i) { return trainx::kernels::widened(out[i]); },
      rms_allowed, of_rms, of_value, token_of(operands));
  const Difference of_lse = compare(
      "lse", exact.lse.host(), [&](std::size_t i) { return static_cast<double>(lse[i]); }, 1e-3,
      1e-3, 1e-3,
      [&](std::size_t i) {
        return std::pair<long, long>(static_cast<long>(i % static_cast<std::size_t>(shape.tokens)),
                                     static_cast<long>(i / static_cast<std::size_t>(shape.tokens)));
      });
  std::printf("    errors of out %.2e, lse %.2e of their rms\n", of_out.rms, of_lse.rms);
  return of_out.bad + of_lse.bad == 0;
}

void forward_checks(Checks& checks) {
  const std::vector<Shape> shapes = {
      {1, 64, 1, 64, false},
      {1, 128, 1, 64, false},
      {1, 128, 1, 64, true},
      {1, 512, 1, 64, false},
      {1, 1024, 2, 64, true},
      {2, 1000, 3, 64, true},
      {2, 333, 3, 64, false},
      {1, 17, 2, 64, true},
      {2, 384, 3, 64, true, 0, false},
      {1, 768, 2, 64, true, 0, true, 8},
      {1, 768, 2, 64, false, 0, true, 2, true},
      {2, 500, 6, 64, true, 2},
      {1, 128, 1, 128, false},
      {1, 1024, 2, 128, true},
      {2, 1000, 3, 128, true},
      {2, 333, 3, 128, false},
      {1, 768, 2, 128, true, 0, true, 8},
      {1, 768, 2, 128, false, 0, true, 2, true},
      {2, 500, 4, 128, true, 1},
      {1, 384, 4, 128, false, 2, false},
      {1, 512, 2, 96, true},
      {2, 333, 3, 80, true},
      {2, 500, 4, 72, true, 2},
      {2, 333, 3, 120, false},
      {2, 500, 3, 32, true},
      {2, 200, 3, 8, false},
      {2, 384, 3, 96, true, 0, false},
  };
  for (const Shape& shape : shapes) {
    const bool good = check_forward(shape);
    checks.say(good, "forward " + shape.name());
  }
}

bool check_backward(const Shape& shape) {
  Operands operands(shape, 9);
  ExactResults exact(operands);
  require(hopper::attention_forward(operands.forward(), operands.size, nullptr),
          "attention_forward");
  operands.d_qkv.spoil(), operands.workspace.spoil();
  require(hopper::attention_backward(operands.backward(), operands.size, nullptr),
          "attention_backward");
  const std::vector<Bf16> found = operands.d_qkv.host();
  reference_forward(operands.forward(), operands.size, exact.pointers());
  reference_backward(operands.backward(), operands.size, exact.pointers());
  const std::vector<double> wanted[] = {exact.d_query.host(), exact.d_key.host(),
                                        exact.d_value.host()};
  static const char* const names[] = {"d_query", "d_key", "d_value"};
  std::size_t bad = 0;
  double rms[3];
  for (int part = 0; part < 3; ++part) {
    const hopper::Rows<const Bf16> rows = operands.part(found.data(), part);
    const std::size_t D = static_cast<std::size_t>(shape.head_size),
                      H = static_cast<std::size_t>(shape.heads_of(part)),
                      T = static_cast<std::size_t>(shape.tokens);
    const auto value = [&](std::size_t i) {
      const std::size_t d = i % D, h = i / D % H, t = i / (D * H) % T, b = i / (D * H * T);
      const std::int64_t at =
          static_cast<std::int64_t>(b) * rows.batch + static_cast<std::int64_t>(t) * rows.token +
          static_cast<std::int64_t>(h) * rows.head + static_cast<std::int64_t>(d);
      return trainx::kernels::widened(rows.data[at]);
    };
    const Difference difference = compare(names[part], wanted[part], value, 2 * rms_allowed,
                                          2 * of_rms, 2 * of_value, token_of(operands, part));
    bad += difference.bad, rms[part] = difference.rms;
  }
  std::printf("    errors of d_query %.2e, d_key %.2e, d_value %.2e of their rms\n", rms[0], rms[1],
              rms[2]);
  return bad == 0;
}

std::vector<Shape> shapes_of_backward(int head_size) {
  return {{1, 64, 1, head_size, false},           {1, 128, 1, head_size, false},
          {1, 128, 1, head_size, true},           {1, 512, 1, head_size, false},
          {1, 1024, 2, head_size, true},          {2, 1000, 3, head_size, true},
          {2, 333, 3, head_size, false},          {1, 17, 2, head_size, true},
          {2, 384, 3, head_size, true, 0, false}, {1, 768, 2, head_size, true, 0, true, 4},
          {2, 64, 4, head_size, true, 2},         {2, 500, 6, head_size, true, 2},
          {1, 333, 4, head_size, false, 1},       {1, 384, 4, head_size, true, 2, false},
          {2, 2048, 14, head_size, true, 7}};
}
// Heads that are cut as larger ones.
void narrow_checks(Checks& checks) {
  for (const int head_size : {8, 32, 56, 72, 80, 96, 120})
    for (Shape shape : {Shape{2, 500, 3, head_size, true},
                        {1, 1024, 4, head_size, true, 2},
                        {2, 333, 3, head_size, false},
                        {2, 384, 3, head_size, true, 0, false}}) {
      const bool good = check_forward(shape) & check_backward(shape);
      checks.say(good, shape.name());
    }
}

// Whole rows, windows, documents and padding; heads that share keys; both layouts.
void dropped_checks(Checks& checks) {
  for (Shape shape : {Shape{1, 64, 1, 64, true},
                      {1, 128, 1, 64, false},
                      {2, 1000, 3, 64, true},
                      {2, 333, 3, 64, false},
                      {3, 17, 2, 64, true},
                      {2, 384, 3, 64, true, 0, false},
                      {2, 500, 6, 64, true, 2},
                      {2, 300, 3, 40, true},
                      {1, 768, 2, 64, true, 0, true, 8}})
    for (const int kind : {0, 1, 2, 3}) {
      if (!shape.causal && (kind == 1 || kind == 2)) continue;
      if (shape.causal && kind == 3) continue;
      shape.dropped = true;
      shape.window = kind == 1 ? 100 : 0, shape.document = kind == 2 ? 120 : 0;
      shape.padded = kind == 3;
      const bool good = check_forward(shape) & check_backward(shape);
      checks.say(good, shape.name());
    }
}

void backward_checks(Checks& checks, int head_size) {
  for (const Shape& shape : shapes_of_backward(head_size)) {
    const bool good = check_backward(shape);
    checks.say(good, "backward " + shape.name());
  }
}

std::vector<Shape> shapes_of_spans(int head_size) {
  std::vector<Shape> all;
  const auto add = [&](Shape shape, int window, int document) {
    shape.window = window, shape.document = document;
    all.push_back(shape);
  };
  add({1, 64, 1, head_size, true}, 2, 0);
  add({1, 64, 1, head_size, true}, 7, 0);
  add({1, 128, 1, head_size, true}, 64, 0);
  add({1, 512, 2, head_size, true}, 65, 0);
  add({2, 1000, 3, head_size, true}, 300, 0);
  add({1, 1024, 2, head_size, true}, 1024, 0);
  add({1, 1024, 2, head_size, true}, 5000, 0);
  add({2, 333, 6, head_size, true, 2}, 40, 0);
  add({1, 768, 2, head_size, true, 0, true, 4}, 200, 0);
  add({2, 64, 1, head_size, true}, 0, 1);
  add({2, 128, 1, head_size, true}, 0, 20);
  add({4, 512, 2, head_size, true}, 0, 100);
  add({4, 1000, 3, head_size, true}, 0, 60);
  add({4, 1024, 4, head_size, true, 2}, 0, 400);
  add({4, 333, 2, head_size, true, 0, false}, 0, 50);
  add({2, 768, 2, head_size, true, 0, true, 4}, 0, 200);
  add({4, 2048, 6, head_size, true, 3}, 150, 300);
  add({2, 2048, 14, head_size, true, 7}, 0, 500);
  return all;
}
void span_checks(Checks& checks) {
  for (const int head_size : {64, 128})
    for (const Shape& shape : shapes_of_spans(head_size)) {
      checks.say(check_forward(shape), "forward " + shape.name());
      checks.say(check_backward(shape), "backward " + shape.name());
    }
}

void length_checks(Checks& checks) {
  for (const int head_size : {64, 128})
    for (Shape shape : {Shape{4, 64, 1, head_size, false},
                        {4, 128, 2, head_size, false},
                        {8, 197, 3, head_size, false},
                        {8, 512, 2, head_size, false},
                        {8, 1000, 3, head_size, false},
                        {8, 384, 4, head_size, false, 2},
                        {4, 333, 4, head_size, false, 1, false},
                        {8, 768, 2, head_size, false, 0, true, 4, true}}) {
      shape.padded = true;
      checks.say(check_forward(shape), "forward " + shape.name());
      checks.say(check_backward(shape), "backward " + shape.name());
    }
}

// More blocks than run at once, in another order each time.
void repeat_checks(Checks& checks) {
  std::vector<Shape> shapes = {{8, 1024, 12, 64, true},    {8, 1024, 12, 64, false},
                               {8, 1024, 12, 64, true, 3}, {4, 2048, 8, 128, true},
                               {4, 2048, 8, 128, false},   {4, 2048, 8, 128, true, 2}};
  for (const int head_size : {64, 128}) {
    shapes.push_back({8, 1024, 12, head_size, true}), shapes.back().document = 300;
    shapes.push_back({8, 1024, 12, head_size, true}), shapes.back().window = 200;
    shapes.push_back({16, 512, 12, head_size, false}), shapes.back().padded = true;
  }
  for (const bool causal : {true, false})
    shapes.push_back({16, 512, 12, 64, causal}), shapes.back().dropped = true;
  shapes.push_back({8, 1024, 12, 96, true});
  for (const Shape& shape : shapes) {
    Operands operands(shape, 3);
    std::vector<Bf16> out, d_qkv;
    bool same_out = true, same_gradients = true;
    for (int round = 0; round < 6; ++round) {
      operands.out.spoil(), operands.d_qkv.spoil(), operands.workspace.spoil();
      require(hopper::attention_forward(operands.forward(), operands.size, nullptr), "forward");
      require(hopper::attention_backward(operands.backward(), operands.size, nullptr), "backward");
      const std::vector<Bf16> now = operands.out.host(), d_now = operands.d_qkv.host();
      const auto equal = [](const std::vector<Bf16>& x, const std::vector<Bf16>& y) {
        return std::memcmp(x.data(), y.data(), x.size() * sizeof(Bf16)) == 0;
      };
      if (round > 0) same_out &= equal(now, out), same_gradients &= equal(d_now, d_qkv);
      out = now, d_qkv = d_now;
    }
    checks.say(same_out, "forward repeats to the bit, " + shape.name());
    checks.say(same_gradients, "backward repeats to the bit, " + shape.name());
  }
}

/// Median milliseconds of a launch, after a warm-up of 50 ms.
double median_ms(const std::function<cudaError_t()>& launch) {
  cudaEvent_t begin, end;
  require(cudaEventCreate(&begin), "event");
  require(cudaEventCreate(&end), "event");
  const auto time = [&](int launches) {
    require(cudaEventRecord(begin), "event");
    for (int i = 0; i < launches; ++i) require(launch(), "launch");
    require(cudaEventRecord(end), "event");
    require(cudaEventSynchronize(end), "kernel");
    float ms = 0;
    require(cudaEventElapsedTime(&ms, begin, end), "event");
    return static_cast<double>(ms) / launches;
  };
  time(1);
  const double once = time(3);
  time(std::max(1, static_cast<int>(50 / once)));
  // long enough that starting the first launch does not count
  const int launches = std::max(1, static_cast<int>(std::ceil(3 / once)));
  std::vector<double> times(15);
  for (double& t : times) t = time(launches);
  std::nth_element(times.begin(), times.begin() + 7, times.end());
  return times[7];
}

void measure() {
  cudaDeviceProp device;
  require(cudaGetDeviceProperties(&device, 0), "device");
  std::printf("%s, %d multiprocessors\n", device.name, device.multiProcessorCount);
  std::vector<Shape> shapes = {
      {32, 1024, 12, 64, true},    {16, 1024, 25, 64, true},  {8, 4096, 12, 64, true},
      {128, 256, 12, 64, true},    {64, 512, 12, 64, true},   {16, 2048, 12, 64, true},
      {64, 256, 16, 128, true},    {16, 1024, 16, 128, true}, {4, 4096, 14, 64, true, 2},
      {32, 1024, 14, 64, true, 2}, {32, 512, 16, 64, false},  {128, 128, 12, 64, false},
      {32, 1024, 12, 64, false},   {4, 4096, 16, 128, true},  {2, 8192, 16, 128, true},
      {8, 2048, 16, 128, true},    {4, 4096, 16, 128, false}, {4, 4096, 32, 128, true, 8},
      {16, 1024, 16, 96, true},    {8, 2048, 32, 96, true},   {4, 4096, 32, 96, true},
      {16, 1024, 32, 80, true},    {4, 4096, 32, 80, true},   {16, 1024, 16, 112, true},
      {16, 1024, 16, 72, true},    {32, 1024, 24, 32, true},  {32, 1024, 16, 48, true},
      {32, 512, 16, 48, false},    {64, 512, 12, 32, false},  {64, 512, 8, 80, false},
      {128, 256, 12, 32, true},    {64, 256, 12, 48, true},   {64, 256, 12, 72, true},
      {64, 256, 16, 96, true},     {64, 512, 16, 112, true},  {128, 128, 12, 32, false},
      {64, 197, 16, 80, false},    {32, 512, 16, 96, false},  {64, 256, 16, 112, false},
      {16, 1024, 16, 80, false},   {4, 4096, 8, 32, true},
  };
  for (const Shape& whole : {Shape{32, 1024, 12, 64, true},
                             {8, 4096, 12, 64, true},
                             {32, 512, 16, 64, false},
                             {128, 128, 12, 64, false}})
    shapes.push_back(whole), shapes.back().dropped = true;
  for (const int window : {512, 1024}) {
    shapes.push_back({4, 4096, 32, 128, true, 8}), shapes.back().window = window;
    shapes.push_back({8, 4096, 12, 64, true}), shapes.back().window = window;
    shapes.push_back({4, 4096, 32, 96, true}), shapes.back().window = window;
    shapes.push_back({8, 4096, 12, 48, true}), shapes.back().window = window;
  }
  for (const int document : {300, 1000}) {
    shapes.push_back({16, 2048, 12, 64, true}), shapes.back().document = document;
    shapes.push_back({8, 2048, 16, 128, true}), shapes.back().document = document;
  }
  std::printf("\n%-40s %8s %8s %8s  TFLOP/s\n", "", "fwd", "bwd", "both");
  for (const Shape& shape : shapes) {
    Operands operands(shape, 5);
    const double product = 4.0 * shape.head_size * 1e-9 *  // GFLOP
                           (shape.window > 0 || shape.document > 0
                                ? shape.pairs(operands.starts.host())
                                : shape.batch * shape.heads * static_cast<double>(shape.tokens) *
                                      shape.tokens * (shape.causal ? 0.5 : 1));
    const double forward = median_ms(
        [&] { return hopper::attention_forward(operands.forward(), operands.size, nullptr); });
    const double backward = median_ms(
        [&] { return hopper::attention_backward(operands.backward(), operands.size, nullptr); });
    std::printf("%-40s %8.1f %8.1f %8.1f  ms %.3f %.3f\n", shape.name().c_str(), product / forward,
                2.5 * product / backward, 3.5 * product / (forward + backward), forward, backward);
    std::fflush(stdout);
  }
}

const std::vector<Group> groups{
    {"boxes", 60, parts::check_boxes},
    {"products", 60, parts::check_products},
    {"moves", 60, parts::check_moves},
    {"forward", 120, forward_checks},
    {"backward", 60, [](Checks& checks) { backward_checks(checks, 64); }},
    {"backward_128", 60, [](Checks& checks) { backward_checks(checks, 128); }},
    {"narrow", 120, narrow_checks},
    {"dropped", 120, dropped_checks},
    {"spans", 120, span_checks},
    {"lengths", 60, length_checks},
    {"repeats", 60, repeat_checks},
    {"times", 120, [](Checks&) { measure(); }},
};

}  // namespace

}  // namespace trainx::bench

int main(int argc, char** argv) {
  using namespace trainx::bench;
  return Groups("hopper_attention", groups, trainx::bench::hopper::watch_waits).run(argv, argc);
}
