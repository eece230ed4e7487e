#include "facts/memory_bandwidth.hpp"
#include <sys/mman.h>
#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <memory>
#include <new>
#include <set>
#include <system_error>
#include <thread>

namespace trainx::facts {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t mebibyte = std::int64_t{1} << 20;
constexpr double sweep_seconds = 0.15;  // of each kind of sweep

struct FreeArrays {
  void operator()(std::byte* p) const { std::free(p); }
};

/// Three of n elements. Not written: a page lies near the thread that writes it first. In large
/// pages where the system has them, as the arenas of a run.
struct Arrays {
  explicit Arrays(std::size_t n) {
    constexpr std::size_t large_page = std::size_t{2} << 20;
    // The same element of each at another place of its page: a CPU takes a load for one of a store
    // just before it where their addresses end alike, and waits.
    constexpr std::size_t displaced = 1088;
    const std::size_t each = n * sizeof(double) + displaced,
                      bytes = (3 * each + large_page - 1) / large_page * large_page;
    memory.reset(static_cast<std::byte*>(std::aligned_alloc(large_page, bytes)));
    if (!memory) throw std::bad_alloc();
    ::madvise(memory.get(), bytes, MADV_HUGEPAGE);  // advice only
    double** const arrays[] = {&a, &b, &c};
    for (std::size_t k = 0; k < 3; ++k)
      *arrays[k] = reinterpret_cast<double*>(memory.get() + k * each);
  }

  std::unique_ptr<std::byte[], FreeArrays> memory;
  double *a = nullptr, *b = nullptr, *c = nullptr;
};

void triad(double* a, const double* b, const double* c, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) a[i] = b[i] + 3.0 * c[i];
}

/// As an optimizer with a momentum: of weights a, states b, gradients c.
void update(double* a, double* b, const double* c, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    b[i] = 0.5 * b[i] + c[i];
    a[i] -= 1e-6 * b[i];
  }
}

/// Seconds of the best of the sweeps that `threads` do together.
template <class Sweep>
double best_sweep(const Arrays& arrays, std::size_t n, std::int64_t threads, const Sweep& sweep) {
  std::barrier together(threads);
  std::atomic<bool> enough = false;
  double best = std::numeric_limits<double>::infinity();
  const auto work = [&](std::int64_t thread) {
    const std::size_t begin = n / static_cast<std::size_t>(threads) *
                              static_cast<std::size_t>(thread);
    const std::size_t end = thread == threads - 1 ? n
                                                  : begin + n / static_cast<std::size_t>(threads);
    std::fill(arrays.a + begin, arrays.a + end, 0.0);
    std::fill(arrays.b + begin, arrays.b + end, 1.0);
    std::fill(arrays.c + begin, arrays.c + end, 2.0);
    together.arrive_and_wait();
    const auto start = Clock::now();
    while (!enough) {
      const auto before = Clock::now();
      sweep(arrays.a, arrays.b, arrays.c, begin, end);
      together.arrive_and_wait();
      if (thread == 0) {
        const auto now = Clock::now();
        best = std::min(best, std::chrono::duration<double>(now - before).count());
        enough = std::chrono::duration<double>(now - start).count() > sweep_seconds;
      }
      together.arrive_and_wait();
    }
  };
  std::vector<std::jthread> others;
  try {
    for (std::int64_t t = 1; t < threads; ++t) others.emplace_back(work, t);
  } catch (const std::system_error&) {
    // Those that began wait for as many as were meant: this thread and drops stand in for the rest.
    enough = true;
    for (std::int64_t missing = static_cast<std::int64_t>(others.size()) + 1; missing <= threads;
         ++missing)
      together.arrive_and_drop();
    throw;
  }
  work(0);
  return best;
}

}  // namespace

std::int64_t triad_array_bytes(const std::string& sys, std::int64_t free_bytes) {
  std::int64_t caches = 0;
  std::set<std::string> seen;  // a cache is told by every core that shares it
  std::error_code none;
  for (const auto& cpu : std::filesystem::directory_iterator(sys + "/devices/system/cpu", none)) {
    Unread ignored;
    const std::string cache = cpu.path().string() + "/cache/index3/";
    const auto shared = text_of(cache + "shared_cpu_list", "", ignored);
    const auto kib = number_of(cache + "size", "", ignored);  // "32768K"
    if (shared && kib && seen.insert(*shared).second) caches += *kib * 1024;
  }
  return std::min(std::clamp(caches, 64 * mebibyte, 512 * mebibyte),
                  std::max(free_bytes / 16, mebibyte));
}

MemoryBandwidthFacts measure_memory_bandwidth(std::int64_t threads, std::int64_t array_bytes) {
  MemoryBandwidthFacts facts;
  facts.threads = std::max<std::int64_t>(threads, 1);
  const std::size_t n = static_cast<std::size_t>(array_bytes) / sizeof(double);
  try {
    const Arrays arrays(n);
    const double bytes = static_cast<double>(n * sizeof(double)),
                 triad_s = best_sweep(arrays, n, facts.threads, triad),
                 update_s = best_sweep(arrays, n, facts.threads, update);
    facts.bytes_per_second = 3.0 * bytes / triad_s;
    facts.in_place_bytes_per_second = 5.0 * bytes / update_s;  // two are read and written
  } catch (const std::bad_alloc&) {
    facts.unread["bytes_per_second"] = "no memory is left to measure it with";
  } catch (const std::system_error& error) {
    facts.unread["bytes_per_second"] = std::string("not all threads could be started: ") +
                                       error.what();
  }
  return facts;
}

Json to_json(const MemoryBandwidthFacts& facts) {
  Json j{{"threads", facts.threads}};
  put(j, "bytes_per_second", facts.bytes_per_second);
  put(j, "in_place_bytes_per_second", facts.in_place_bytes_per_second);
  put_unread(j, facts.unread);
  return j;
}

Lines describe(const MemoryBandwidthFacts& facts) {
  Lines lines;
  if (facts.bytes_per_second && facts.in_place_bytes_per_second) {
    char text[96];
    std::snprintf(text, sizeof text,
                  "%.1f GB/s (triad), %.1f GB/s in place, as updates on the host (",
                  *facts.bytes_per_second / 1e9, *facts.in_place_bytes_per_second / 1e9);
    lines.push_back(text + counted(facts.threads, "thread") + ")");
  }
  add_unread(lines, facts.unread);
  return lines;
}

}  // namespace trainx::facts
