// Tables of rotary positions against formulas of doubles.
#include "architectures/config_reader.hpp"
#include "architectures/rope.hpp"
#include <algorithm>
#include <cmath>
#include <numbers>
#include "support/catch.hpp"
#include "support/user_error.hpp"

namespace rope_test {

using namespace trainx;
using namespace trainx::architectures;

namespace {

double plain(double theta, double dim, std::size_t pair) {
  return std::pow(theta, -2 * static_cast<double>(pair) / dim);
}

/// `want`(pair) of each of `pairs`.
template <class F>
void check_table(const RopeTable& got, std::size_t pairs, double factor, F want) {
  REQUIRE(got.frequencies.size() == pairs);
  CHECK(std::abs(got.factor - factor) <= 1e-12);
  for (std::size_t i = 0; i < pairs; ++i) {
    INFO("pair " << i << " is " << got.frequencies[i] << ", not " << want(i));
    CHECK(std::abs(got.frequencies[i] / want(i) - 1) <= 3e-6);
  }
}

Rope read(const std::string& text, std::int64_t max_positions = 4096) {
  return read_rope(ConfigReader(text, "config.json"), "", max_positions, {.turns_parts = true});
}

}  // namespace

TEST_CASE("plain and linear frequencies, of a whole head and of a part") {
  const std::int64_t D = GENERATE(2, 10, 20, 128);
  const double theta = GENERATE(10000.0, 500000.0), rotated = GENERATE(1.0, 0.5, 0.25);
  INFO("head size " << D << " theta " << theta << " rotated " << rotated);
  const auto dim = std::floor(static_cast<double>(D) * rotated);
  const auto pairs = static_cast<std::size_t>(std::ceil(dim / 2));  // an odd part is rounded up
  Rope r{.theta = theta, .rotated = rotated, .factor = 8};
  check_table(rope_table(r, D, 50), pairs, 1, [&](std::size_t i) { return plain(theta, dim, i); });
  r.kind = Rope::Kind::linear;
  check_table(rope_table(r, D, 50), pairs, 1,
              [&](std::size_t i) { return plain(theta, dim, i) / 8; });
}

TEST_CASE("dynamic frequencies grow slower from the longest row on") {
  const std::int64_t length = GENERATE(1, 100, 101, 250, 1000);
  INFO("length " << length);
  const Rope r{.kind = Rope::Kind::dynamic, .factor = 4, .max_positions = 100};
  const double beyond = std::max(1.0, static_cast<double>(length) / 100);
  const double base = 10000 * std::pow(4 * beyond - 3, 20.0 / 18);
  check_table(rope_table(r, 20, length), 10, 1, [&](std::size_t i) { return plain(base, 20, i); });
}

TEST_CASE("yarn stretches slow pairs, and scores with its scales") {
  const bool truncates = GENERATE(true, false);
  const double factor = GENERATE(0.5, 1.0, 4.0, 40.0);
  const std::int64_t D = GENERATE(10, 64, 128);
  Rope r{.kind = Rope::Kind::yarn, .theta = 50000, .factor = factor, .truncates = truncates};
  r.original_positions = 4096;
  INFO("head size " << D << " factor " << factor << " truncates " << truncates);
  const auto d = static_cast<double>(D);
  const auto turns = [&](double rotations) {  // the dimension that turns so often
    return d * std::log(4096 / (rotations * 2 * std::numbers::pi)) / (2 * std::log(50000.0));
  };
  double low = turns(32), high = turns(1);
  if (truncates) low = std::floor(low), high = std::ceil(high);
  low = std::max(low, 0.0), high = std::min(high, d - 1);
  const auto want = [&](std::size_t i) {
    const double f = plain(50000, d, i),
                 slow = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    return f * (1 - slow) + f / factor * slow;
  };
  const auto pairs = static_cast<std::size_t>(D / 2);
  const auto scale = [&](double m) { return factor <= 1 ? 1 : 0.1 * m * std::log(factor) + 1; };
  check_table(rope_table(r, D, 10), pairs, scale(1), want);
  r.mscale = 0.7;  // alone it says nothing
  check_table(rope_table(r, D, 10), pairs, scale(1), want);
  r.mscale_all = 1.3;
  check_table(rope_table(r, D, 10), pairs, scale(0.7) / scale(1.3), want);
  r.attention_factor = 1.25;
  check_table(rope_table(r, D, 10), pairs, 1.25, want);
}

TEST_CASE("longrope has a factor for each pair, others for long rows") {
  const std::int64_t length = GENERATE(1, 32, 33, 64);
  INFO("length " << length);
  Rope r{.kind = Rope::Kind::longrope, .factor = 2};
  r.original_positions = 32;
  r.short_factors = {1, 1.1, 1.2, 1.3, 1.4};
  r.long_factors = {1, 2, 4, 8, 16};
  const std::vector<double>& by = length > 32 ? r.long_factors : r.short_factors;
  const auto want = [&](std::size_t i) { return plain(10000, 10, i) / by[i]; };
  check_table(rope_table(r, 10, length), 5, std::sqrt(1 + std::log(2) / std::log(32)), want);
  r.factor = 1;
  check_table(rope_table(r, 10, length), 5, 1, want);
  r.attention_factor = 1.19;
  check_table(rope_table(r, 10, length), 5, 1.19, want);
}

TEST_CASE("llama3 stretches wavelengths beyond the original context, by parts at its edge") {
  const std::int64_t D = GENERATE(10, 64, 128);
  const double factor = GENERATE(8.0, 32.0), theta = GENERATE(10000.0, 500000.0);
  INFO("head size " << D << " factor " << factor << " theta " << theta);
  Rope r{.kind = Rope::Kind::llama3, .theta = theta, .factor = factor};
  r.original_positions = 8192;
  bool stays = false, stretched = false, between = false;
  const auto pairs = static_cast<std::size_t>(D / 2);
  check_table(rope_table(r, D, 10), pairs, 1, [&](std::size_t i) {
    const double f = plain(theta, static_cast<double>(D), i),
                 turns = 8192 * f / (2 * std::numbers::pi),  // within the context
        part = std::clamp((turns - 1) / (4 - 1), 0.0, 1.0);
    (part == 1 ? stays : part == 0 ? stretched : between) = true;
    return f / factor * (1 - part) + f * part;
  });
  CHECK(stays);
  if (D > 10) CHECK((stretched && between));
}

TEST_CASE("both spellings of rope settings are the same rope") {
  struct Pair {
    std::string now, before;
  };
  const std::string sizes = R"("hidden_size": 40, "num_attention_heads": 4)";
  const std::vector<Pair> pairs{
      {R"("rope_parameters": {"rope_type": "default", "rope_theta": 123.5})",
       R"("rope_theta": 123.5)"},
      {R"("rope_parameters": {"rope_type": "linear", "factor": 3, "rope_theta": 20000})",
       R"("rope_theta": 20000, "rope_scaling": {"type": "linear", "factor": 3.0})"},
      {R"("rope_parameters": {"rope_type": "dynamic", "factor": 3})",
       R"("rope_scaling": {"rope_type": "dynamic", "factor": 3.0})"},
      {R"("rope_parameters": {"rope_type": "default", "partial_rotary_factor": 0.4})",
       R"("partial_rotary_factor": 0.4, "rope_scaling": null)"},
      {R"("rope_parameters": {"rope_type": "yarn", "factor": 4, "beta_fast": 16, "beta_slow": 2,
          "truncate": false, "mscale": 1, "mscale_all_dim": 0.5,
          "original_max_position_embeddings": 64, "attention_factor": 1.5})",
       R"("rope_scaling": {"type": "yarn", "factor": 4, "beta_fast": 16, "beta_slow": 2,
          "truncate": false, "mscale": 1, "mscale_all_dim": 0.5, "attention_factor": 1.5},
          "original_max_position_embeddings": 64)"},
      {R"("rope_parameters": {"rope_type": "llama3", "factor": 8, "low_freq_factor": 2,
          "high_freq_factor": 5, "original_max_position_embeddings": 64, "rope_theta": 77})",
       R"("rope_theta": 77, "rope_scaling": {"rope_type": "llama3", "factor": 8,
          "low_freq_factor": 2, "high_freq_factor": 5, "original_max_position_embeddings": 64})"},
      {R"("rope_parameters": {"rope_type": "longrope", "short_factor": [1, 1, 1, 1, 2],
          "long_factor": [1, 2, 3, 4, 5], "original_max_position_embeddings": 1024})",
       R"("rope_scaling": {"type": "su", "short_factor": [1, 1, 1, 1, 2],
          "long_factor": [1, 2, 3, 4, 5]}, "original_max_position_embeddings": 1024)"},
  };
  for (const Pair& p : pairs) {
    INFO(p.now << " and " << p.before);
    const Rope now = read("{" + sizes + ", " + p.now + "}");
    CHECK(now == read("{" + sizes + ", " + p.before + "}"));
    CHECK_FALSE(now == read("{" + sizes + "}"));
  }
}

TEST_CASE("a part of a head turns in the families that turn parts") {
  const auto whole = [](const std::string& text) {
    return read_rope(ConfigReader(text, "config.json"), "", 64, {});
  };
  for (const char* text : {R"({"partial_rotary_factor": 0.5})",
                           R"({"rope_parameters": {"partial_rotary_factor": 0.5}})"}) {
    CHECK(read(text).rotated == 0.5);
    CHECK(whole(text).rotated == 1);
  }
  const std::string linear = R"({"rope_parameters": {"rope_type": "linear", "factor": 2,
                                 "partial_rotary_factor": )";
  CHECK(whole(linear + "1.0}}").kind == Rope::Kind::linear);
  CHECK(user_error_of([&] { whole(linear + "0.5}}"); }).find("partial_rotary_factor is 0.5") !=
        std::string::npos);
}

TEST_CASE("where a file has both spellings, rope_scaling counts as for transformers") {
  const std::string parameters =
                        R"("rope_parameters": {"rope_type": "default", "rope_theta": 5.0})",
                    scaling = R"("rope_scaling": {"type": "linear", "factor": 2.0})";
  const Rope both = read("{" + parameters + ", " + scaling + "}");
  CHECK(both.kind == Rope::Kind::linear);
  CHECK(both.theta == 10000);  // that of rope_parameters does not count
  CHECK(read("{" + parameters + R"(, "rope_scaling": {}})").theta == 5);
  CHECK(read("{" + parameters + R"(, "rope_scaling": null})").theta == 5);
  const auto of = [&](const char* layers, const std::string& text, const RopeDefaults& defaults) {
    return read_rope(ConfigReader(text, "config.json"), layers, 64, defaults);
  };
  const std::string nested =
      R"({"rope_parameters": {"full_attention": {"rope_theta": 7.0}, "sliding_attention": {}},
          "rope_theta": 9.0, "own": 11.0, )" +
      scaling + "}";
  const Rope full = of("full_attention", nested, {}),
             local = of("sliding_attention", nested, {.theta_key = "own"});
  CHECK(full.kind == Rope::Kind::linear);
  CHECK(full.theta == 7);
  CHECK(local.kind == Rope::Kind::plain);
  CHECK(local.theta == 11);
  CHECK(of("sliding_attention", nested, {.theta = 3, .theta_key = nullptr}).theta == 3);
  CHECK(of("sliding_attention", nested, {.scaling_of_all_layers = true}).kind ==
        Rope::Kind::linear);
}

TEST_CASE("what a file leaves out of a rope is what transformers computes with") {
  const std::string sizes = R"("hidden_size": 40, "num_attention_heads": 4)";
  const Rope absent = read("{" + sizes + "}");
  CHECK((absent.kind == Rope::Kind::plain && absent.theta == 10000 && absent.rotated == 1));
  for (const char* text : {R"("rope_parameters": {"rope_type": "yarn", "factor": null,
                               "original_max_position_embeddings": 1024})",
                           R"("rope_parameters": {"rope_type": "longrope",
                               "short_factor": [1, 1, 1, 1, 1], "long_factor": [2, 2, 2, 2, 2],
                               "original_max_position_embeddings": 1024})"}) {
    INFO(text);
    CHECK(read("{" + sizes + ", " + text + "}").factor == 4);  // 4096 / 1024
  }
}

TEST_CASE("settings of a rope that trainx does not compute are refused by their names") {
  const auto [settings, key] = GENERATE(table<std::string, std::string>({
      {R"({"rope_type": "spiral"})", "rope_type is \"spiral\""},
      {R"({"rope_type": 7})", "rope_type is 7"},
      {R"({"rope_type": "linear"})", "factor"},
      {R"({"rope_type": "dynamic"})", "factor"},
      {R"({"rope_type": "llama3"})", "factor"},
      {R"({"rope_type": "linear", "factor": 0})", "factor is 0"},
      {R"({"rope_type": "linear", "factor": "two"})", "factor is \"two\""},
      {R"({"rope_theta": -1})", "rope_theta is -1"},
      {R"({"partial_rotary_factor": 1.5})", "partial_rotary_factor is 1.5"},
      {R"({"partial_rotary_factor": 0})", "partial_rotary_factor is 0"},
      {R"({"rope_type": "yarn", "factor": 2, "truncate": "no"})", "truncate is \"no\""},
      {R"({"rope_type": "yarn", "factor": 2, "original_max_position_embeddings": 1e300})",
       "original_max_position_embeddings is 1e+300"},
      {R"({"rope_type": "yarn", "factor": 2, "original_max_position_embeddings": 10.5})",
       "original_max_position_embeddings is 10.5"},
      {R"({"rope_type": "longrope", "long_factor": [1, 1, 1, 1, 1]})", "short_factor"},
      {R"({"rope_type": "longrope", "short_factor": [1, 1, 1, 1, 1], "long_factor": [1, 1]})",
       "long_factor"},
      {R"({"rope_type": "longrope", "short_factor": [1, 1, 1, 1, 0],
           "long_factor": [1, 1, 1, 1, 1]})",
       "short_factor"},
      {R"({"rope_type": "default", "mrope_section": [3]})", "mrope_section is a list"},
      {R"([1])", "is a list"},
      {R"("default")", "is \"default\""},
  }));
  const std::string spelling = GENERATE("rope_parameters", "rope_scaling");
  const std::string said = user_error_of([&, s = settings] {
    read(R"({"hidden_size": 40, "num_attention_heads": 4, ")" + spelling + "\": " + s + "}");
  });
  CHECK_THAT(said, ContainsSubstring("65: config.json: " + spelling));
  CHECK_THAT(said, ContainsSubstring(key));
  CHECK(said.find('\n') == std::string::npos);
}

}  // namespace rope_test
