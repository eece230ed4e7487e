// Checks and times the products of experts on Hopper; needs a GPU of compute capability 9.0.
//   hopper_experts            all groups, each in a process of its own with a time limit, so that a
//                             fault or a hang in one does not keep the others from running
//   hopper_experts GROUP      one of: boxes products nans repeats times
//   hopper_experts times N I  N shapes, from number I on
// Ends with 0 if all checks are good. Times are medians, by turns with the portable kernels'.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>
#include "bench/hopper_attention/groups.hpp"
#include "bench/hopper_experts/reference.cuh"
#include "kernels/experts/hopper/grouped_hopper.hpp"
#include "kernels/experts/hopper/operand_boxes.cuh"

namespace trainx::bench {

namespace {

using kernels::Fp16;
using reference::Which;

constexpr const char* name_of(Which which) {
  return which == Which::forward ? "forward" : which == Which::input ? "input" : "weight";
}

/// Sizes and the rows of each expert.
struct Shape {
  std::vector<std::int32_t> offsets;
  std::int64_t in, out;
  std::int64_t experts() const { return static_cast<std::int64_t>(offsets.size()) - 1; }
  std::int64_t rows() const { return offsets.back(); }
  std::string name() const {
    return "rows " + std::to_string(rows()) + " of " + std::to_string(experts()) + " experts, in " +
           std::to_string(in) + " out " + std::to_string(out);
  }
};

/// Rows over experts at random, the last with `skew` times as many as the first.
std::vector<std::int32_t> spread(std::int64_t rows, int experts, std::uint64_t seed,
                                 double skew = 2.7) {
  Random random(seed);
  std::vector<double> weights;
  double all = 0;
  for (int e = 0; e < experts; ++e) {
    const double jitter = 0.7 + 0.6 * random.whole(0, 1000) / 1000;
    weights.push_back(std::pow(skew, static_cast<double>(e) / experts) * jitter);
    all += weights.back();
  }
  std::vector<std::int32_t> offsets{0};
  double before = 0;
  for (const double w : weights) {
    before += w / all;
    offsets.push_back(static_cast<std::int32_t>(std::llround(before * static_cast<double>(rows))));
  }
  offsets.back() = static_cast<std::int32_t>(rows);
  return offsets;
}

constexpr std::int64_t guard = 4096;  // elements behind results that nobody writes

/// Operands of a shape on the device, and room for results.
template <class T>
struct Operands {
  Shape shape;
  Device<std::int32_t> offsets;
  Device<T> x, dy, weight, y, dx;
  Device<float> d_weight;

  explicit Operands(const Shape& of)
      : shape(of),
        offsets(of.offsets),
        x(count(of.rows() * of.in)),
        dy(count(of.rows() * of.out)),
        weight(count(of.experts() * of.out * of.in)),
        y(count(of.rows() * of.out + guard)),
        dx(count(of.rows() * of.in + guard)),
        d_weight(count(of.experts() * of.out * of.in + guard)) {
    fill(x, 1, 1), fill(dy, 2, 1), fill(weight, 3, 0.05f);
  }
  static std::size_t count(std::int64_t n) { return static_cast<std::size_t>(n); }
  template <class V>
  static void fill(const Device<V>& to, std::uint64_t seed, float scale) {
    reference::fill<<<2048, 256>>>(to.get(), static_cast<std::int64_t>(to.size()), seed, scale);
    require(cudaGetLastError(), "fill");
  }
  kernels::GroupedSizes sizes() const {
    return {shape.rows(), shape.in, shape.out, shape.experts(), offsets.get()};
  }
  reference::Operands<T> of_reference() const { return {sizes(), x.get(), dy.get(), weight.get()}; }
  std::int64_t results(Which which) const {
    return which == Which::forward ? shape.rows() * shape.out
           : which == Which::input ? shape.rows() * shape.in
                                   : shape.experts() * shape.out * shape.in;
  }
  std::int64_t columns(Which which) const { return which == Which::forward ? shape.out : shape.in; }
  cudaError_t run(Which which, bool portable, bool accumulate, cudaStream_t stream) const {
    const kernels::GroupedLinear<T> forward{sizes(), x.get(), weight.get(), y.get()};
    const kernels::GroupedLinearBackwardInput<T> input{sizes(), dy.get(), weight.get(), dx.get()};
    const kernels::GroupedLinearBackwardWeight<T> of_weight{sizes(), dy.get(), x.get(),
                                                            d_weight.get(), accumulate};
    if (which == Which::forward)
      return portable ? kernels::grouped_linear(forward, stream)
                      : kernels::hopper::grouped_linear(forward, stream);
    if (which == Which::input)
      return portable ? kernels::grouped_linear_backward_input(input, stream)
                      : kernels::hopper::grouped_linear_backward_input(input, stream);
    return portable ? kernels::grouped_linear_backward_weight(of_weight, stream)
                    : kernels::hopper::grouped_linear_backward_weight(of_weight, stream);
  }
  /// All results and the guard behind them.
  std::vector<float> host(Which which) const {
    std::vector<float> to;
    to.reserve(count(results(which) + guard));
    const auto widen = [&](const auto& from) {
      for (const auto value : from) to.push_back(kernels::widened(value));
    };
    if (which == Which::weight)
      to = d_weight.host();
    else
      widen((which == Which::forward ? y : dx).host());
    return to;
  }
  void spoil(Which which) {
    if (which == Which::forward) y.spoil();
    if (which == Which::input) dx.spoil();
    if (which == Which::weight) d_weight.spoil();
  }
  std::vector<double> exact(Which which) const {
    const std::int64_t n = results(which);
    Device<double> to(count(n));
    if (n > 0) reference::elements<<<4096, 256>>>(which, of_reference(), nullptr, n, to.get());
    require(cudaGetLastError(), "reference");
    return to.host();
  }
};

constexpr Which all_products[] = {Which::forward, Which::input, Which::weight};

// Maps that end where an expert's rows do.

struct BoxArguments {
  CUtensorMap from, to;
  int first, valid, to_first, to_valid;
};
__global__ void __launch_bounds__(32) move_clipped(const __grid_constant__ BoxArguments a) {
  using namespace kernels::hopper;
  extern __shared__ __align__(1024) unsigned char memory[];
  const std::uint32_t shared = shared_address(memory), barrier = shared + box_bytes;
  if (threadIdx.x == 0) {
    init_barrier(barrier, 1);
    publish_barriers();
    arrive_expecting(barrier, box_bytes);
    load_clipped<box_rows>(shared, a.from, 0, a.first, a.valid, barrier);
  }
  __syncwarp();
  wait(barrier, 0, Waiting::operands_copied);
  if (threadIdx.x == 0) {  // 64 rows of it, 16 at once
    for (int i = 0; i < 4; ++i) {
      const ClippedRows at = clipped_rows<stored_rows>(a.to_first + 16 * i, a.to_valid - 16 * i);
      store_box(a.to, 0, at.inside, at.from, shared + i * 16 * box_row_bytes);
    }
    commit_stores();
    wait_for_stores();
  }
}

void check_boxes(Checks& checks) {
  constexpr int rows = 200, columns = 64;
  std::vector<Bf16> values(rows * columns);
  for (int i = 0; i < rows * columns; ++i)
    values[static_cast<std::size_t>(i)] = bf16(1.0f + i % 251);
  Device<Bf16> from(values), to(rows * columns);
  const int cases[][4] = {{0, 64, 0, 64},   {0, 1, 5, 64},  {3, 40, 0, 33}, {150, 50, 136, 64},
                          {199, 1, 100, 1}, {64, 0, 0, 64}, {0, 63, 1, 17}, {10, 16, 7, 48}};
  for (const auto& c : cases) {
    BoxArguments a{};
    to.spoil();
    require(kernels::hopper::make_clipped_map<64>(a.from, from.get(), rows, columns, columns),
            "map");
    require(kernels::hopper::make_clipped_map<16>(a.to, to.get(), rows, columns, columns), "map");
    a.first = c[0], a.valid = c[1], a.to_first = c[2], a.to_valid = c[3];
    move_clipped<<<1, 32, kernels::hopper::box_bytes + 64>>>(a);
    require(cudaGetLastError(), "move");
    const std::vector<Bf16> found = to.host();
    // the swizzle undoes itself: an even number of atoms lies between boxes
    int bad = 0;
    for (int row = 0; row < rows; ++row)
      for (int column = 0; column < columns; ++column) {
        const int i = row - c[2];
        const std::uint16_t want =
            i < 0 || i >= c[3] ? 0xffff
            : i < c[1] ? values[static_cast<std::size_t>((c[0] + i) * columns + column)].bits
                       : 0;
        bad += found[static_cast<std::size_t>(row * columns + column)].bits != want;
      }
    checks.say(bad == 0, "boxes: " + std::to_string(c[1]) + " rows from " + std::to_string(c[0]) +
                             " on, " + std::to_string(c[3]) + " of them to " +
                             std::to_string(c[2]) + " on, wrong: " + std::to_string(bad));
  }
}

bool guard_is_whole(const std::vector<float>& found) {
  return std::all_of(found.end() - guard, found.end(), [](float x) { return std::isnan(x); });
}

/// Largest rms of errors of each kind of check.
std::map<std::string, double> largest;

template <class T>
void check_product(Checks& checks, Operands<T>& op, Which which, bool accumulate,
                   const char* type) {
  const std::string what = std::string(type) + " " + name_of(which) + (accumulate ? " +=" : "") +
                           ", " + op.shape.name();
  std::vector<double> exact = op.exact(which);
  op.spoil(which);
  if (accumulate) {
    std::vector<float> before(exact.size());
    Random random(11);
    for (std::size_t i = 0; i < before.size(); ++i)
      before[i] = random.normal(), exact[i] += static_cast<double>(before[i]);
    require(cudaMemcpy(op.d_weight.get(), before.data(), before.size() * sizeof(float),
                       cudaMemcpyHostToDevice),
            "copy");
  }
  require(op.run(which, false, accumulate, nullptr), "launch");
  const std::vector<float> found = op.host(which);
  const auto columns = static_cast<std::size_t>(op.columns(which));
  const bool narrow = which != Which::weight;
  const Difference d = compare(
      what.c_str(), exact, [&](std::size_t i) { return static_cast<double>(found[i]); },
      narrow ? 4e-3 : 1e-5, narrow ? 1e-3 : 1e-4, narrow ? 5e-3 : 1e-4,
      [&](std::size_t i) {
        return std::pair<long, long>(static_cast<long>(i / columns),
                                     static_cast<long>(i % columns));
      });
  double& most = largest[std::string(type) + " " + name_of(which) + (accumulate ? " +=" : "")];
  most = std::max(most, d.rms);
  char rms[48];
  std::snprintf(rms, sizeof rms, ", rms of errors %.1e", d.rms);
  const bool whole = guard_is_whole(found);
  checks.say(d.bad == 0 && whole, what + rms + (whole ? "" : ", wrote behind the last row"));
}

std::vector<Shape> edge_shapes() {
  std::vector<Shape> shapes = {
      {{0, 1}, 8, 8},                           // one row
      {{0, 128}, 64, 256},                      // one tile
      {{0, 64}, 128, 256},                      //
      {{0, 5, 5, 9, 9}, 24, 40},                // none to two experts
      {{0, 0, 0, 300}, 64, 136},                // all to the last
      {{0, 300, 300, 300}, 72, 264},            // all to the first
      {{0, 127, 255, 384, 512, 641}, 40, 128},  // about a tile each
      {spread(517, 70, 5), 16, 24},             // more experts than a warp looks at
      {spread(600, 9, 6), 200, 328},
      {{0, 0, 0}, 16, 24},  // no rows: weight gradients are 0, or as they were
      {spread(1000, 5, 7), 512, 768},
      {{0, 64, 128, 192, 256, 320, 384, 448, 512}, 256, 256},  // all tokens to all experts
  };
  Shape one{std::vector<std::int32_t>(65, 5000), 256, 512};  // all rows to one of many
  std::fill(one.offsets.begin(), one.offsets.begin() + 30, 0);
  shapes.push_back(one);
  shapes.push_back({spread(6000, 16, 8), 520, 1032});  // several tiles a block
  return shapes;
}

template <class T>
void check_products_of(Checks& checks, const char* type) {
  for (const Shape& shape : edge_shapes()) {
    Operands<T> op(shape);
    for (const Which which : all_products) check_product(checks, op, which, false, type);
    check_product(checks, op, Which::weight, true, type);
  }
}

void check_products(Checks& checks) {
  check_products_of<Bf16>(checks, "bf16");
  check_products_of<Fp16>(checks, "fp16");
  std::printf("largest rms of errors, of the rms of values:");
  for (const auto& [what, rms] : largest) std::printf(" %s %.1e;", what.c_str(), rms);
  std::printf("\n");
}

/// NaN of an expert's last and first rows stay in these rows, and in its weight gradient.
void check_nans(Checks& checks) {
  Operands<Bf16> op(Shape{{0, 40, 40, 201, 300, 428}, 136, 72});
  for (const std::int64_t row : {std::int64_t{200}, std::int64_t{300}}) {
    const Bf16 nan{0x7fc0};
    require(cudaMemcpy(op.x.get() + row * 136 + 9, &nan, 2, cudaMemcpyHostToDevice), "copy");
    require(cudaMemcpy(op.dy.get() + row * 72 + 3, &nan, 2, cudaMemcpyHostToDevice), "copy");
  }
  for (const Which which : all_products) {
    op.spoil(which);
    const std::vector<double> exact = op.exact(which);
    require(op.run(which, false, false, nullptr), "launch");
    const std::vector<float> found = op.host(which);
    std::size_t bad = 0, nans = 0;
    for (std::size_t i = 0; i < exact.size(); ++i) {
      bad += std::isnan(exact[i]) != std::isnan(found[i]);
      nans += std::isnan(exact[i]);
    }
    checks.say(bad == 0 && nans > 0, std::string("NaN stays where it belongs, ") + name_of(which) +
                                         ": " + std::to_string(nans) + ", wrong " +
                                         std::to_string(bad));
  }
}

void check_repeats(Checks& checks) {
  for (const Shape& shape :
       {Shape{spread(6000, 16, 8), 520, 1032}, Shape{spread(9000, 64, 9), 1024, 2048}}) {
    Operands<Bf16> op(shape);
    for (const Which which : all_products) {
      std::vector<float> first;
      bool same = true;
      for (int round = 0; round < 4; ++round) {
        op.spoil(which);
        require(op.run(which, false, false, nullptr), "launch");
        const std::vector<float> now = op.host(which);
        if (round == 0)
          first = now;
        else
          same &= std::memcmp(first.data(), now.data(), now.size() * sizeof(float)) == 0;
      }
      checks.say(same, std::string("repeats to the bit, ") + name_of(which) + ", " + shape.name());
    }
  }
  // a captured launch, with other rows for each expert than when it was captured
  Operands<Bf16> op(Shape{spread(3000, 12, 3), 264, 512});
  cudaStream_t stream;
  require(cudaStreamCreate(&stream), "stream");
  for (const Which which : all_products) {
    cudaGraph_t graph;
    cudaGraphExec_t launch;
    require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
    require(op.run(which, false, false, stream), "launch");
    require(cudaStreamEndCapture(stream, &graph), "capture");
    require(cudaGraphInstantiate(&launch, graph, 0), "graph");
    bool good = true;
    for (const std::uint64_t seed : {21u, 22u, 23u}) {
      const std::vector<std::int32_t> others = spread(3000, 12, seed, 40);
      require(cudaMemcpy(op.offsets.get(), others.data(), others.size() * sizeof(std::int32_t),
                         cudaMemcpyHostToDevice),
              "copy");
      op.spoil(which);
      require(cudaGraphLaunch(launch, stream), "graph");
      require(cudaStreamSynchronize(stream), "graph");
      const std::vector<float> replayed = op.host(which);
      op.spoil(which);
      require(op.run(which, false, false, stream), "launch");
      require(cudaStreamSynchronize(stream), "kernel");
      const std::vector<float> direct = op.host(which);
      const std::vector<double> exact = op.exact(which);
      good &= std::memcmp(replayed.data(), direct.data(), direct.size() * sizeof(float)) == 0;
      for (std::size_t i = 0; i < exact.size(); ++i)
        good &= std::abs(static_cast<double>(direct[i]) - exact[i]) <=
                0.05 + 0.01 * std::abs(exact[i]);
    }
    checks.say(good, std::string("a captured launch follows the offsets, ") + name_of(which));
  }
}

int first_shape = 0, most_shapes = 1000;  // that are timed

struct Timer {
  cudaEvent_t begin, end;
  Timer() {
    require(cudaEventCreate(&begin), "event");
    require(cudaEventCreate(&end), "event");
  }
  /// Milliseconds of a launch.
  double of(const std::function<cudaError_t()>& launch, int launches) const {
    require(cudaEventRecord(begin), "event");
    for (int i = 0; i < launches; ++i) require(launch(), "launch");
    require(cudaEventRecord(end), "event");
    require(cudaEventSynchronize(end), "kernel");
    float ms = 0;
    require(cudaEventElapsedTime(&ms, begin, end), "event");
    return static_cast<double>(ms) / launches;
  }
};

double median(std::vector<double> times) {
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2),
                   times.end());
  return times[times.size() / 2];
}

/// Largest error of sampled elements, relative to the rms of what is expected.
double sampled_error(Operands<Bf16>& op, Which which) {
  constexpr int samples = 2048;
  const std::int64_t n = op.results(which);
  Random random(17);
  std::vector<std::int64_t> at(samples);
  for (std::int64_t& i : at)
    i = (static_cast<std::int64_t>(random.whole(0, 0x3fffffff)) << 20 ^
         random.whole(0, 0x3fffffff)) %
        n;
  Device<std::int64_t> places(at);
  Device<double> to(samples);
  reference::elements<<<256, 32>>>(which, op.of_reference(), places.get(), samples, to.get());
  require(cudaGetLastError(), "reference");
  const std::vector<double> exact = to.host();
  double squares = 0, most = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    float found = 0;
    if (which == Which::weight) {
      require(cudaMemcpy(&found, op.d_weight.get() + at[i], 4, cudaMemcpyDeviceToHost), "copy");
    } else {
      Bf16 x;
      require(cudaMemcpy(&x, (which == Which::forward ? op.y : op.dx).get() + at[i], 2,
                         cudaMemcpyDeviceToHost),
              "copy");
      found = kernels::widened(x);
    }
    squares += exact[i] * exact[i];
    const double error = std::abs(static_cast<double>(found) - exact[i]);
    if (!(error <= most)) most = error;  // NaN stays
  }
  return most / std::sqrt(squares / samples);
}

void measure(Checks& checks) {
  cudaDeviceProp device;
  require(cudaGetDeviceProperties(&device, 0), "device");
  std::printf("%s, %d multiprocessors\n", device.name, device.multiProcessorCount);
  struct Timed {
    const char* name;
    int experts;
    std::int64_t rows, in, out;
  };
  const Timed shapes[] = {
      {"olmoe up", 64, 65536, 2048, 2048},  {"olmoe down", 64, 65536, 1024, 2048},
      {"olmoe up", 64, 262144, 2048, 2048}, {"olmoe down", 64, 262144, 1024, 2048},
      {"mixtral up", 8, 8192, 4096, 28672}, {"mixtral down", 8, 8192, 14336, 4096},
      {"qwen3 up", 128, 65536, 2048, 1536}, {"qwen3 down", 128, 65536, 768, 2048},
      {"olmoe up", 64, 32768, 2048, 2048},  {"olmoe up", 64, 8192, 2048, 2048},
      {"olmoe down", 64, 8192, 1024, 2048}, {"olmoe up", 64, 2048, 2048, 2048},
  };
  std::printf("%-13s %7s %6s %6s  %-10s %8s %8s %7s  %8s  error of rms\n", "", "rows", "in", "out",
              "", "portable", "hopper", "TFLOP/s", "ms");
  const Timer timer;
  for (const Timed& t : shapes) {
    if (&t - shapes < first_shape || &t - shapes >= first_shape + most_shapes) continue;
    Operands<Bf16> op(Shape{spread(t.rows, t.experts, 4), t.in, t.out});
    const double gflop = 2e-9 * static_cast<double>(t.rows) * static_cast<double>(t.in * t.out);
    const auto run = [&](Which which, bool portable, bool accumulate) {
      return [&op, which, portable, accumulate] {
        return op.run(which, portable, accumulate, nullptr);
      };
    };
    // what a GPU sustains at its power limit: a second of load before the first turn
    const double once = timer.of(run(Which::forward, false, false), 3);
    timer.of(run(Which::forward, false, false), std::max(1, static_cast<int>(1000 / once)));
    for (int row = 0; row < 4; ++row) {
      const Which which = row < 3 ? all_products[row] : Which::weight;
      const bool accumulate = row == 3;
      timer.of(run(which, true, false), 1);
      if (row < 3) timer.of(run(which, false, false), 1);
      const double error = accumulate ? 0 : sampled_error(op, which);
      std::vector<double> portable, hopper;
      for (int turn = 0; turn < 5; ++turn) {
        const auto add = [&](std::vector<double>& to, bool by_portable) {
          const auto launch = run(which, by_portable, accumulate);
          if (to.empty()) to.push_back(timer.of(launch, 2));  // warm-up
          to.push_back(timer.of(launch, std::max(1, static_cast<int>(12 / to.front()))));
        };
        add(hopper, false), add(portable, true);
      }
      portable.erase(portable.begin()), hopper.erase(hopper.begin());
      const double old_ms = median(portable), new_ms = median(hopper);
      std::printf("%-13s %7ld %6ld %6ld  %-10s %8.1f %8.1f %6.2fx  %8.4f  %.1e\n", t.name,
                  static_cast<long>(t.rows), static_cast<long>(t.in), static_cast<long>(t.out),
                  accumulate ? "weight +=" : name_of(which), gflop / old_ms, gflop / new_ms,
                  old_ms / new_ms, new_ms, error);
      std::fflush(stdout);
      if (!(error < (which == Which::weight ? 1e-3 : 0.03)))
        checks.say(false, std::string("sampled elements of ") + t.name + " " + name_of(which));
    }
  }
}

const std::vector<Group> groups{{"boxes", 4, check_boxes},
                                {"products", 12, check_products},
                                {"nans", 4, check_nans},
                                {"repeats", 10, check_repeats},
                                {"times", 30, measure}};

}  // namespace

}  // namespace trainx::bench

int main(int argc, char** argv) {
  using namespace trainx::bench;
  if (argc > 2) most_shapes = std::atoi(argv[2]);
  if (argc > 3) first_shape = std::atoi(argv[3]);
  return Groups("hopper_experts", groups, trainx::kernels::hopper::watch_grouped_waits)
      .run(argv, argc);
}
