// How fast the host updates weights (memory.optimizer_offload), against what its memory gives loops
// over as many bytes in the same run.
//   bench_host_update [--elements N] [--threads N] [--out OUT.json]
// Bytes are those that the update needs: the gradient read, weights and states read and written.
// bench/peers/torch_adamw_cpu.py times torch's fused AdamW alike.
#include "core/units.hpp"
#include "optim/optimizer.hpp"
#include <ATen/Parallel.h>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <nlohmann/json.hpp>
#include <sys/mman.h>

using namespace trainx;

namespace {

constexpr int repetitions = 15;

/// Memory in large pages where the system has them, as the arenas of a run; written once, so that
/// every page is there.
class Floats {
 public:
  explicit Floats(std::int64_t n) : bytes_(static_cast<std::size_t>(n) * sizeof(float)) {
    void* p = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
      throw std::runtime_error("no memory for " + human_bytes(static_cast<std::int64_t>(bytes_)));
    madvise(p, bytes_, MADV_HUGEPAGE);
    data_ = static_cast<float*>(p);
    at::parallel_for(0, n, 1 << 16, [&](std::int64_t begin, std::int64_t end) {
      std::fill(data_ + begin, data_ + end, 1e-3f);
    });
  }
  ~Floats() { munmap(data_, bytes_); }
  Floats(const Floats&) = delete;
  Floats& operator=(const Floats&) = delete;
  float* get() const { return data_; }

 private:
  std::size_t bytes_;
  float* data_ = nullptr;
};

/// Of several runs the median, after one that is not counted.
template <class Work>
double seconds_of(const Work& work) {
  using Clock = std::chrono::steady_clock;
  work();
  std::vector<double> seconds;
  for (int k = 0; k < repetitions; ++k) {
    const auto begin = Clock::now();
    work();
    seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
  }
  std::ranges::nth_element(seconds, seconds.begin() + repetitions / 2);
  return seconds[repetitions / 2];
}

struct Row {
  std::string name;
  double bytes_per_element = 0, seconds = 0;
};

struct Case {
  std::string name;
  options::OptimizerOptions options;
  DType dtype;
  program::Master master;
  DType gradients = DType::f32;
};

std::vector<Case> cases() {
  using program::Master;
  options::SgdOptions momentum;
  momentum.momentum = 0.9;
  return {{"adamw, fp32", options::AdamWOptions{}, DType::f32, Master::absent},
          {"adamw, bf16 and its low 16 bits", options::AdamWOptions{}, DType::bf16, Master::split},
          {"adamw, bf16 beside fp32", options::AdamWOptions{}, DType::bf16, Master::fp32},
          {"adamw, fp32; bf16 gradients", options::AdamWOptions{}, DType::f32, Master::absent,
           DType::bf16},
          {"adamw, low 16 bits; bf16 gradients", options::AdamWOptions{}, DType::bf16,
           Master::split, DType::bf16},
          {"sgd with momentum, fp32", momentum, DType::f32, Master::absent},
          {"lion, fp32", options::LionOptions{}, DType::f32, Master::absent}};
}

Row update_row(const Case& c, std::int64_t n) {
  program::GroupSpec group{"g", {}, n};
  program::ParameterSpec p;
  p.name = "p";
  p.dims = {n};
  p.decay = true;
  group.parameters.push_back(p);
  const auto states = std::visit([](const auto& o) { return options::states(o); }, c.options);
  const Floats gradient(n), weights(n), master(n);
  std::vector<std::unique_ptr<Floats>> kept;
  optim::GroupMemory memory;
  memory.group = &group;
  memory.gradient = gradient.get();  // of bf16 the first half of it
  memory.gradient_dtype = c.gradients;
  memory.parameter_dtype = c.dtype;
  memory.parameter = weights.get();
  memory.master_kind = c.master;
  if (c.master != program::Master::absent) memory.master = master.get();
  for (std::size_t s = 0; s < states.size(); ++s)
    memory.states.push_back(kept.emplace_back(std::make_unique<Floats>(n))->get());
  const auto optimizer = optim::make_optimizer(c.options);
  optim::StepScalars step;
  step.norm2 = 1;
  step.lr = 1e-4;
  step.max_grad_norm = 1;
  const double of_master = c.master == program::Master::absent ? 0
                           : c.master == program::Master::fp32 ? 4
                                                               : 2;
  const double read_and_written = static_cast<double>(size_of(c.dtype)) + of_master +
                                  4 * static_cast<double>(states.size());
  Row row{c.name, static_cast<double>(size_of(c.gradients)) + 2 * read_and_written, 0};
  row.seconds = seconds_of([&] {
    optimizer->update(memory, step);
    ++step.applied_steps;
  });
  return row;
}

/// a = b + 3 c: what machines are compared by. Its writes fetch what they overwrite first, which is
/// not counted.
Row triad_row(std::int64_t n) {
  const Floats a(n), b(n), c(n);
  return {"triad", 12, seconds_of([&] {
            at::parallel_for(0, n, 1 << 16, [&](std::int64_t begin, std::int64_t end) {
              float* const x = a.get();
              const float *const y = b.get(), *const z = c.get();
#pragma omp simd
              for (std::int64_t i = begin; i < end; ++i) x[i] = y[i] + 3 * z[i];
            });
          })};
}

/// a = a + 3 b in place, as updates write.
Row in_place_row(std::int64_t n) {
  const Floats a(n), b(n);
  return {"in place", 12, seconds_of([&] {
            at::parallel_for(0, n, 1 << 16, [&](std::int64_t begin, std::int64_t end) {
              float* const x = a.get();
              const float* const y = b.get();
#pragma omp simd
              for (std::int64_t i = begin; i < end; ++i) x[i] += 3 * y[i];
            });
          })};
}

}  // namespace

int main(int argc, char** argv) {
  std::int64_t n = std::int64_t{64} << 20;
  int threads = at::get_num_threads();
  std::string out;
  for (int k = 1; k + 1 < argc; k += 2) {
    if (!std::strcmp(argv[k], "--elements"))
      n = std::stoll(argv[k + 1]);
    else if (!std::strcmp(argv[k], "--threads"))
      threads = std::stoi(argv[k + 1]);
    else if (!std::strcmp(argv[k], "--out"))
      out = argv[k + 1];
    else
      return std::fprintf(stderr,
                          "bench_host_update [--elements N] [--threads N] [--out OUT.json]\n"),
             2;
  }
  at::set_num_threads(threads);
  // of about the bytes that AdamW works through
  std::vector<Row> rows{triad_row(n * 2), in_place_row(n * 2)};
  for (const Case& c : cases()) rows.push_back(update_row(c, n));
  const auto rate = [&](const Row& r, std::int64_t elements) {
    return r.bytes_per_element * static_cast<double>(elements) / r.seconds;
  };
  const double triad = rate(rows[0], n * 2);
  nlohmann::json json{{"elements", n}, {"threads", threads}};
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const std::int64_t elements = k < 2 ? n * 2 : n;
    const double bytes_per_s = rate(rows[k], elements);
    std::printf("%-34s %7.1f ms  %4.0f bytes each  %6.1f GB/s  %4.2f of the triad\n",
                rows[k].name.c_str(), rows[k].seconds * 1e3, rows[k].bytes_per_element,
                bytes_per_s / 1e9, bytes_per_s / triad);
    json["rows"].push_back({{"name", rows[k].name},
                            {"elements", elements},
                            {"bytes_per_element", rows[k].bytes_per_element},
                            {"seconds", rows[k].seconds},
                            {"bytes_per_s", bytes_per_s}});
  }
  if (!out.empty()) std::ofstream(out) << json.dump(2) << "\n";
  return 0;
}
