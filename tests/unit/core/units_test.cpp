#include "core/units.hpp"
#include "core/number.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include <random>

namespace trainx::units_test {
namespace {

using Unit = Duration::Unit;

std::string duration_problem(const std::string& text) {
  std::string problem;
  return parse_duration(text, problem) ? "" : problem;
}
std::string size_problem(const std::string& text) {
  std::string problem;
  return parse_byte_size(text, problem) ? "" : problem;
}
Duration duration(const std::string& text) {
  std::string problem;
  const auto d = parse_duration(text, problem);
  INFO(text << " " << problem);
  REQUIRE(d);
  return *d;
}
std::int64_t size(const std::string& text) {
  std::string problem;
  const auto s = parse_byte_size(text, problem);
  INFO(text << " " << problem);
  REQUIRE(s);
  return s->bytes;
}

}  // namespace

TEST_CASE("durations carry their unit") {
  CHECK(duration("500 steps") == Duration{500, Unit::steps});
  CHECK(duration("1 step") == Duration{1, Unit::steps});
  CHECK(duration("1e3 steps") == Duration{1000, Unit::steps});
  CHECK(duration("1.5 epochs") == Duration{1.5, Unit::epochs});
  CHECK(duration("2B tokens") == Duration{2e9, Unit::tokens});
  CHECK(duration("1.5M tokens") == Duration{1.5e6, Unit::tokens});
  CHECK(duration("300k tokens") == Duration{3e5, Unit::tokens});
  CHECK(duration("1T tokens") == Duration{1e12, Unit::tokens});
  CHECK(duration("30 min") == Duration{1800, Unit::seconds});
  CHECK(duration("60s") == Duration{60, Unit::seconds});
  CHECK(duration("2 h") == Duration{7200, Unit::seconds});
  CHECK(duration("1 d") == Duration{86400, Unit::seconds});
  CHECK(duration("0 steps") == Duration{0, Unit::steps});
  CHECK(duration("5 %") == Duration{5, Unit::percent});
  CHECK(duration("2.5%") == Duration{2.5, Unit::percent});
  CHECK(to_string(Duration{2.5, Unit::percent}) == "2.5 %");
}

TEST_CASE("a duration that is none says what it should be") {
  check_sentence("core.units/no_unit_steps_epochs_tokens", duration_problem("2000"));
  CHECK(duration_problem("30 minutes").ends_with("(did you mean '30 min'?)"));
  CHECK(duration_problem("5 m").ends_with("(did you mean '5 min'?)"));
  CHECK(duration_problem("3 epohcs").ends_with("(did you mean '3 epochs'?)"));
  CHECK(duration_problem("10 Steps").ends_with("(did you mean '10 steps'?)"));
  CHECK(duration_problem("5 percent").ends_with("(did you mean '5 %'?)"));
  CHECK(duration_problem("2B").ends_with("(did you mean '2B tokens'?)"));
  CHECK(duration_problem("2k steps").ends_with("(did you mean '2000 steps'?)"));
  CHECK(duration_problem("100 iterations").ends_with("(did you mean '100 steps'?)"));
  check_sentence("core.units/must_not_negative", duration_problem("-1 steps"));
  check_sentence("core.units/must_whole_number_steps_not", duration_problem("1.5 steps"));
  check_sentence("core.units/must_whole_number_tokens_not", duration_problem("0.5 tokens"));
  for (const char* text : {"", " ", "steps", "nan steps", "inf s", "1e400 steps", "1e30 steps",
                           "0x10 steps", "010 steps", "+1 steps", "1,5 epochs", "1 2 steps",
                           "1 k M tokens", "1 step epoch", "1 steps!"}) {
    INFO(text);
    CHECK_FALSE(duration_problem(text).empty());
  }
}

TEST_CASE("sizes carry their unit") {
  CHECK(size("512 MiB") == 512LL << 20);
  CHECK(size("8GiB") == 8LL << 30);
  CHECK(size("1.5 KiB") == 1536);
  CHECK(size("80 GB") == 80'000'000'000);
  CHECK(size("0 B") == 0);
  CHECK(size("9223372036854775807 B") == INT64_MAX);
  check_sentence("core.units/no_unit_b_kib_mib", size_problem("8"));
  CHECK(size_problem("8 G").ends_with("(did you mean '8 GiB'?)"));
  CHECK(size_problem("8 gib").ends_with("(did you mean '8 GiB'?)"));
  CHECK(size_problem("8 gb").ends_with("(did you mean '8 GB'?)"));
  check_sentence("core.units/must_whole_number_bytes_not", size_problem("0.3 B"));
  check_sentence("core.units/too_large", size_problem("9223372036854775808 B"));
  check_sentence("core.units/too_large_2", size_problem("100000000 TiB"));
  for (const char* text : {"", "MiB", "-1 MiB", "1 2 MiB", "nan B", "1e300 GiB"})
    CHECK_FALSE(size_problem(text).empty());
}

TEST_CASE("written quantities are short and parse back to themselves") {
  CHECK(to_string(Duration{2e9, Unit::tokens}) == "2B tokens");
  CHECK(to_string(Duration{1500, Unit::tokens}) == "1500 tokens");
  CHECK(to_string(Duration{1, Unit::epochs}) == "1 epoch");
  CHECK(to_string(Duration{90, Unit::seconds}) == "90 s");
  CHECK(to_string(Duration{1800, Unit::seconds}) == "30 min");
  CHECK(to_string(ByteSize{512LL << 20}) == "512 MiB");
  CHECK(to_string(ByteSize{80'000'000'000}) == "80 GB");
  CHECK(to_string(ByteSize{1023}) == "1023 B");
  const auto seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 3000; ++i) {
    const auto whole = static_cast<double>(random() >> (11 + random() % 53));
    for (const Duration& d :
         {Duration{whole, Unit::steps}, Duration{whole, Unit::tokens},
          Duration{whole / 8, Unit::epochs}, Duration{whole / 7, Unit::seconds}}) {
      INFO(to_string(d));
      CHECK(duration(to_string(d)) == d);
    }
    const ByteSize b{static_cast<std::int64_t>(random() >> (1 + random() % 63))};
    INFO(to_string(b));
    CHECK(size(to_string(b)) == b.bytes);
  }
}

TEST_CASE("numbers are JSON's") {
  CHECK(parse_decimal("3e-4") == 3e-4);
  CHECK(parse_decimal("-0.5E+2") == -50);
  for (const char* text : {"010", "+1", ".5", "5.", "1_0", "0x1", "1e", "", "-", "nan", "inf",
                           "1e999", " 1", "1 ", "--1", "1.e5"}) {
    INFO(text);
    CHECK_FALSE(parse_decimal(text));
  }
  CHECK(parse_integer("-9223372036854775808") == INT64_MIN);
  CHECK_FALSE(parse_integer("9223372036854775808"));
  CHECK_FALSE(parse_integer("1.0"));
  CHECK(shortest(6e-4) == "6e-4");
  CHECK(shortest(1e20) == "1e20");
  CHECK(shortest(0.1) == "0.1");
  CHECK(shortest(1024) == "1024");
}

TEST_CASE("quantities for people") {
  CHECK(human_bytes(0) == "0 B");
  CHECK(human_bytes(1023) == "1023 B");
  CHECK(human_bytes(1536) == "1.5 KiB");
  CHECK(human_bytes((1LL << 30) - 1) == "1.0 GiB");
  CHECK(human_bytes(1503238554) == "1.4 GiB");
  CHECK(human_bytes(-2048) == "-2.0 KiB");
  CHECK(human_count(999) == "999");
  CHECK(human_count(12345) == "12.3k");
  CHECK(human_count(124e6) == "124M");
  CHECK(human_count(999999) == "1.0M");
  CHECK(human_seconds(125) == "2 min 5 s");
  CHECK(human_seconds(3600) == "1 h");
  CHECK(human_seconds(0.25) == "250 ms");
  CHECK(human_seconds(59.99) == "1 min");
  CHECK(human_seconds(90000) == "1 d 1 h");
}

}  // namespace trainx::units_test
