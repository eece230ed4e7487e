#include "recipe/sweep.hpp"
#include "support/catch.hpp"
#include "support/user_error.hpp"

namespace sweep_test {

using namespace trainx;
using recipe::split_values;
using recipe::sweep_runs;

namespace {
using Values = std::vector<std::string>;
}

TEST_CASE("values of a sweep are split at commas outside of quotes, brackets and braces") {
  CHECK(split_values("optimizer.lr=1e-3,3e-4").key == "optimizer.lr");
  CHECK(split_values("optimizer.lr=1e-3,3e-4").values == Values{"1e-3", "3e-4"});
  CHECK(split_values("run.seed=1").values == Values{"1"});
  CHECK(split_values("data.pad_to=[64,128],[256]").values == Values{"[64,128]", "[256]"});
  CHECK(split_values("schedule={type: linear, warmup: 5 steps},constant").values ==
        Values{"{type: linear, warmup: 5 steps}", "constant"});
  CHECK(split_values("a=\"x,y\",'z,w'").values == Values{"\"x,y\"", "'z,w'"});
  CHECK(split_values("a=[\"x]\",y],z").values == Values{"[\"x]\",y]", "z"});
  CHECK(split_values("a=it's,b").values == Values{"it's", "b"});
  CHECK(split_values("a=1,").values == Values{"1", ""});
}

TEST_CASE("a sweep runs all combinations, the last key fastest") {
  const auto runs =
      sweep_runs({{"optimizer.lr", {"1e-3", "3e-4"}}, {"run.seed", {"1", "2", "3"}}}, 100);
  REQUIRE(runs.size() == 6);
  CHECK(runs[0].suffix == "-lr-1e-3-seed-1");
  CHECK(runs[1].suffix == "-lr-1e-3-seed-2");
  CHECK(runs[5].suffix == "-lr-3e-4-seed-3");
  CHECK(runs[5].values == decltype(runs[5].values){{"optimizer.lr", "3e-4"}, {"run.seed", "3"}});
}

TEST_CASE("names of a sweep's runs are names of folders, and tell keys apart") {
  CHECK(sweep_runs({{"run.duration", {"20 steps"}}}, 9)[0].suffix == "-duration-20_steps");
  CHECK(sweep_runs({{"data.train", {"\"a/b\""}}}, 9)[0].suffix == "-train-a_b");
  const auto runs = sweep_runs({{"checkpoint.every", {"1 steps"}}, {"eval.every", {"2 steps"}}}, 9);
  CHECK(runs[0].suffix == "-checkpoint.every-1_steps-eval.every-2_steps");
}

TEST_CASE("sweeps that cannot be run are refused") {
  CHECK(user_error_of([] {
          sweep_runs({{"a", {"1", "2"}}, {"b", {"1", "2"}}}, 3);
        }).starts_with("2: "));
  CHECK(user_error_of([] { sweep_runs({{"a", {"1", ""}}}, 9); }).starts_with("2: "));
  CHECK(user_error_of([] { sweep_runs({{"a", {"1", "1"}}}, 9); }).starts_with("2: "));
  CHECK(user_error_of([] { sweep_runs({{"a", {"x y", "x_y"}}}, 9); }).starts_with("2: "));
  CHECK(user_error_of([] { sweep_runs({{"a", {"1"}}, {"a", {"2"}}}, 9); }).starts_with("2: "));
}

}  // namespace sweep_test
