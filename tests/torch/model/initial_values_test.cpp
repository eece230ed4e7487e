#include "kernels/random/initial_values.hpp"
#include "kernels/random/normal_pair.hpp"
#include "kernels/random/philox.hpp"
#include "model/model.hpp"
#include "program/shards.hpp"
#include "architectures/gpt2.hpp"
#include <cmath>
#include <cstring>
#include <numbers>
#include <vector>
#include "support/catch.hpp"

namespace initial_values_test {

using namespace trainx;
using namespace trainx::kernels;

namespace {

constexpr std::uint64_t key = 0xfedcba9876543210;

std::vector<float> drawn(InitialValues values, std::int64_t first, std::int64_t elements) {
  values.first = first;
  values.elements = elements;
  std::vector<float> out(static_cast<std::size_t>(elements), std::nanf(""));
  initial_values_reference({.exact = out.data()}, values);
  return out;
}

/// By the C library's functions, which may round another way.
NormalPair by_library(std::uint32_t a, std::uint32_t b) {
  const double radius = std::sqrt(-2 * std::log((a + 1.0) / 4294967296.0)),
               angle = 2 * std::numbers::pi * b / 4294967296.0;
  return {{radius * std::cos(angle), radius * std::sin(angle)}};
}

/// In units of the last place of the wanted number.
double error_of(double got, double want) {
  return want == got
             ? 0
             : std::abs(got - want) / (std::nextafter(std::abs(want), 100) - std::abs(want));
}

}  // namespace

TEST_CASE("normal numbers round to the floats of the C library's log, cos and sin") {
  constexpr int pairs = 5'000'000;
  int other_floats = 0;
  double worst = 0;
  const auto compare = [&](std::uint32_t a, std::uint32_t b) {
    const NormalPair got = normal_pair(a, b), want = by_library(a, b);
    for (int j = 0; j < 2; ++j) {
      other_floats += static_cast<float>(0.02 * got.at[j]) != static_cast<float>(0.02 * want.at[j]);
      const double error = error_of(got.at[j], want.at[j]);
      if (!(error <= worst)) worst = error;  // NaN is worse, too
    }
  };
  for (int i = 0; i < pairs / 2; ++i) {
    const FourWords words = philox({{static_cast<std::uint32_t>(i), 0, 0, 0}}, key);
    compare(words.at[0], words.at[1]);
    compare(words.at[2], words.at[3]);
  }
  INFO("key " << key << ", " << 2 * pairs << " numbers");
  CHECK(other_floats <= 1);
  CHECK(worst <= 4);
  // the ends of the logarithm's and of the circle's pieces
  for (const std::uint32_t a :
       {0u, 1u, 2u, 0x7fffffffu, 0x80000000u, 0xb504f332u, 0xb504f333u, 0xfffffffeu, 0xffffffffu})
    for (std::uint64_t eighth = 0; eighth <= 8; ++eighth)
      for (int beside = -3; beside <= 3; ++beside)
        compare(a, static_cast<std::uint32_t>((eighth << 29) + static_cast<std::uint64_t>(beside)));
  CHECK(other_floats <= 1);
  CHECK(worst <= 4);
}

TEST_CASE("a tensor is the same in parts that begin anywhere, in each law") {
  const std::int64_t elements = 1003;
  for (const InitialValues& values :
       {InitialValues{.law = InitialLaw::normal, .scale = 0.02, .key = key},
        InitialValues{.law = InitialLaw::uniform, .scale = 0.5, .key = key},
        InitialValues{.law = InitialLaw::normal,
        .scale = 1,
        .key = key,
        .end = 901,
        .zero_begin = 70,
        .zero_end = 77},
        InitialValues{.scale = 1}}) {
    const std::vector<float> whole = drawn(values, 0, elements);
    for (const float x : whole) REQUIRE(std::isfinite(x));
    for (const std::int64_t part : {1, 2, 3, 4, 5, 63, 64, 129}) {
      std::vector<float> parts;
      for (std::int64_t at = 0; at < elements; at += part)
        for (const float x : drawn(values, at, std::min(part, elements - at))) parts.push_back(x);
      INFO("parts of " << part);
      CHECK(parts == whole);
    }
    for (std::int64_t i = 0; i < elements; ++i)
      if (i >= values.end || (i >= values.zero_begin && i < values.zero_end))
        CHECK(whole[static_cast<std::size_t>(i)] == 0);
  }
  // counters above 2^32 blocks are others
  const InitialValues normal{.law = InitialLaw::normal, .scale = 1, .key = key};
  CHECK(drawn(normal, 0, 8) != drawn(normal, std::int64_t{1} << 34, 8));
}

TEST_CASE("uniform numbers lie inside the bounds, on both sides, and are even") {
  const std::vector<float> x =
      drawn({.law = InitialLaw::uniform, .scale = 0.25, .key = key}, 0, 100'000);
  double sum = 0, squares = 0;
  for (const float v : x) {
    if (!(std::abs(v) <= 0.25f)) FAIL("outside: " << v);
    sum += v;
    squares += static_cast<double>(v) * v;
  }
  CHECK(std::abs(sum / 100'000) < 0.25 * 0.01);
  CHECK(std::abs(squares / 100'000 / (0.0625 / 3) - 1) < 0.02);
}

TEST_CASE("copies of a weight are those that training stores") {
  const InitialValues values{.law = InitialLaw::normal, .scale = 3e-5, .key = key, .elements = 999};
  std::vector<float> exact(999), average(999);
  std::vector<Bf16> bf16(999);
  std::vector<std::uint16_t> low(999);
  std::vector<Fp16> fp16(999);
  initial_values_reference({exact.data(), average.data(), bf16.data(), low.data(), fp16.data()},
                           values);
  CHECK(average == exact);
  for (std::size_t i = 0; i < exact.size(); ++i) {
    CHECK(joined(bf16[i], low[i]) == exact[i]);
    Fp16 rounded;
    narrow(exact[i], rounded);
    CHECK(fp16[i].bits == rounded.bits);
  }
}

TEST_CASE("shards of a group draw their parts of its tensors") {
  const architectures::Gpt2Dims dims{.num_layers = 1,
                                     .num_heads = 2,
                                     .hidden_size = 64,
                                     .intermediate_size = 256,
                                     .max_positions = 100,
                                     .vocab_size = 301};
  const auto graph = program::divisible(architectures::graph_of(dims, 1, 1, DType::f32), {3, 3},
                                        program::Unit::element);
  for (const program::GroupSpec& group : graph.groups) {
    std::vector<float> whole(static_cast<std::size_t>(group.elements));
    model::initialize_parameters(group, 7, whole.data());
    std::vector<float> shards;
    for (int rank = 0; rank < 3; ++rank) {
      const program::GroupSpec shard = program::shard_of(group, rank, 3);
      std::vector<float> mine(static_cast<std::size_t>(shard.elements));
      for (const program::ParameterSpec& p : shard.parameters) {
        const auto of = std::ranges::find(group.parameters, p.name, &program::ParameterSpec::name);
        p.slice.for_each_run(
            p.elements(), [&](std::int64_t first, std::int64_t at, std::int64_t count) {
              initial_values_reference({.exact = mine.data() + p.offset + at},
                                       model::initial_values(*of, {first, count}, 7));
            });
      }
      shards.insert(shards.end(), mine.begin(), mine.end());
    }
    INFO(group.name);
    CHECK(shards == whole);
  }
}

}  // namespace initial_values_test
