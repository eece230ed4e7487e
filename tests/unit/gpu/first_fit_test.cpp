#include "gpu/first_fit.hpp"
#include "support/catch.hpp"
#include <random>
#include <vector>

namespace first_fit_test {

using trainx::gpu::FirstFit;

TEST_CASE(
    "blocks lie in the first gap that holds them, from either end, and gaps grow together again") {
  alignas(512) static std::byte memory[8 * 512 + 100];
  FirstFit fit(memory, sizeof memory);
  CHECK(fit.largest_gap() == 8 * 512);
  void* const a = fit.take(1, FirstFit::From::begin);
  void* const b = fit.take(513, FirstFit::From::begin);
  void* const last = fit.take(512, FirstFit::From::end);
  CHECK(a == memory);
  CHECK(b == memory + 512);
  CHECK(last == memory + 7 * 512);
  CHECK(fit.used_bytes() == 4 * 512);
  CHECK(fit.take(4 * 512 + 1) == nullptr);
  fit.give(a);
  CHECK(fit.take(1024) == memory + 3 * 512);
  CHECK(fit.take(512) == memory);
  fit.give(b);
  CHECK(fit.take(1024) == b);
  fit.give(memory + 5);  // none of its blocks
  fit.give(&fit);
  CHECK(fit.blocks() == 4);
}

TEST_CASE("where nothing else is asked small blocks keep out of the way of large ones") {
  alignas(512) static std::byte memory[32 * 512];
  FirstFit fit(memory, sizeof memory);
  CHECK(fit.take(2 * 512) == memory);
  CHECK(fit.take(512) == memory + 31 * 512);
  CHECK(fit.take(512) == memory + 30 * 512);
  CHECK(fit.take(3 * 512) == memory + 2 * 512);
}

TEST_CASE("no two blocks overlap, whatever the order") {
  std::mt19937 random(7);
  std::vector<std::byte> memory(1 << 20);
  FirstFit fit(memory.data(), static_cast<std::int64_t>(memory.size()));
  std::vector<std::pair<std::byte*, std::int64_t>> held;
  for (int i = 0; i < 4000; ++i) {
    if (held.empty() || random() % 3) {
      const std::int64_t bytes = 1 + random() % 40000;
      auto* const p = static_cast<std::byte*>(
          fit.take(bytes, random() % 4 ? FirstFit::From::begin : FirstFit::From::end));
      if (!p) {
        REQUIRE(fit.largest_gap() < bytes + FirstFit::alignment);
        continue;
      }
      REQUIRE((p >= memory.data() && p + bytes <= memory.data() + memory.size()));
      for (const auto& [other, size] : held) REQUIRE((p + bytes <= other || other + size <= p));
      held.emplace_back(p, bytes);
    } else {
      std::swap(held[random() % held.size()], held.back());
      fit.give(held.back().first);
      held.pop_back();
    }
  }
  for (const auto& [p, bytes] : held) fit.give(p);
  CHECK(fit.largest_gap() == 1 << 20);
}

}  // namespace first_fit_test
