#include "launch/visible_gpus.hpp"
#include "support/catch.hpp"

namespace visible_gpus_test {

using trainx::launch::visible_gpus;

TEST_CASE("GPUs are counted as CUDA counts them") {
  CHECK(visible_gpus(8, false, "") == 8);
  struct Row {
    const char* names;
    int count;
  };
  for (const auto& row : {Row{"", 0},
                          {"-1", 0},
                          {"0", 1},
                          {"0,1,2", 3},
                          {"3,1", 2},
                          {"0,8,1", 1},
                          {"0,-1,1", 1},
                          {"x", 0},
                          {"GPU-1f,GPU-2e", 2},
                          {"MIG-5", 1},
                          {"0,", 1}}) {
    INFO(row.names);
    CHECK(visible_gpus(8, true, row.names) == row.count);
  }
}

}  // namespace visible_gpus_test
