#include "gpu/gemm_cache.hpp"
#include <nlohmann/json.hpp>
#include "core/files.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

namespace gemm_cache_test {

using namespace trainx;
using namespace trainx::gpu;

namespace {

GemmChoice choice(std::uint64_t word) {
  return {{word, 0, 0, 0, 0, 0, 0, ~std::uint64_t{0}}, 4096, 2.5, 2.0, 7};
}

}  // namespace

TEST_CASE("choices come back from the file they were added to, under their machine") {
  const TemporaryFolder folder;
  const std::string path = folder / "new/deeper/gemm.json";
  CHECK(load_choices(path, "one").empty());
  add_choices(path, "one", {{"m 1", choice(1)}, {"m 2", choice(2)}});
  add_choices(path, "two", {{"m 1", choice(3)}});
  add_choices(path, "one", {{"m 2", choice(4)}});
  const GemmChoices one = load_choices(path, "one");
  REQUIRE(one.size() == 2);
  CHECK(one.at("m 1").algorithm == choice(1).algorithm);
  CHECK(one.at("m 2").algorithm == choice(4).algorithm);
  CHECK(one.at("m 2").workspace_bytes == 4096);
  CHECK(one.at("m 2").heuristic_ms == 2.5);
  CHECK(one.at("m 2").chosen_ms == 2.0);
  CHECK(one.at("m 2").candidates == 7);
  CHECK(load_choices(path, "two").at("m 1").algorithm == choice(3).algorithm);
  CHECK(load_choices("", "one").empty());
}

TEST_CASE("what is no choice is left out, and a broken file is begun anew") {
  const TemporaryFolder folder;
  const std::string path = folder / "gemm.json";
  for (const char* broken :
       {"", "{", "[]", "null", "{\"one\": 3}", "{\"one\": {\"m 1\": {\"algorithm\": [1, 2]}}}",
        "{\"one\": {\"m 1\": {\"algorithm\": [1,2,3,4,5,6,7,-8], \"workspace_bytes\": 1, "
        "\"heuristic_ms\": 1, \"chosen_ms\": 1, \"candidates\": 1}}}"}) {
    INFO(broken);
    write_file_atomic(path, broken);
    CHECK(load_choices(path, "one").empty());
    add_choices(path, "one", {{"m 2", choice(5)}});
    CHECK(load_choices(path, "one").size() == 1);
  }
}

}  // namespace gemm_cache_test
