#include "launch/slurm_lists.hpp"
#include "support/catch.hpp"

namespace slurm_lists_test {

using namespace trainx;
using Hosts = std::vector<std::string>;

TEST_CASE("host lists unfold in Slurm's order") {
  struct Row {
    const char* text;
    Hosts hosts;
  };
  const Row rows[]{
      {"n1", {"n1"}},
      {"login-2.cluster.org", {"login-2.cluster.org"}},
      {"a,b,c", {"a", "b", "c"}},
      {"a[1-3]", {"a1", "a2", "a3"}},
      {"a[5]", {"a5"}},
      {"a[01-03,07],b2,c[1-2]-[5-6]",
       {"a01", "a02", "a03", "a07", "b2", "c1-5", "c1-6", "c2-5", "c2-6"}},
      {"gpu[098-101]", {"gpu098", "gpu099", "gpu100", "gpu101"}},
      {"r[8-11]n[1,3]", {"r8n1", "r8n3", "r9n1", "r9n3", "r10n1", "r10n3", "r11n1", "r11n3"}},
      {"n[1-2]-ib", {"n1-ib", "n2-ib"}},
      {"n[3,1]", {"n3", "n1"}},
  };
  for (const auto& row : rows) {
    INFO(row.text);
    CHECK(launch::expand_host_list(row.text) == row.hosts);
  }
  CHECK(launch::expand_host_list("n[1-65536]").size() == 65536);
}

TEST_CASE("what is no host list unfolds to nothing") {
  for (const char* text : {"",
                           ",",
                           "a,",
                           ",a",
                           "a[",
                           "a]",
                           "a[1",
                           "a1]",
                           "a[]",
                           "a[1-]",
                           "a[-1]",
                           "a[3-1]",
                           "a[1,]",
                           "a[x]",
                           "a[1-2-3]",
                           "a[[1]]",
                           "a[1]]",
                           "[]",
                           "a[1-99999999]",
                           "a[1-300][1-300]",
                           "a[18446744073709551616]",
                           "a[0-18446744073709551615]"}) {
    INFO(text);
    CHECK(launch::expand_host_list(text).empty());
  }
}

TEST_CASE("counts of tasks unfold") {
  struct Row {
    const char* text;
    std::vector<int> counts;
  };
  const Row rows[]{{"1", {1}},
                   {"2,3", {2, 3}},
                   {"2(x3),1", {2, 2, 2, 1}},
                   {"8(x1)", {8}},
                   {"4(x2),2(x2)", {4, 4, 2, 2}}};
  for (const auto& row : rows) {
    INFO(row.text);
    CHECK(launch::expand_task_counts(row.text) == row.counts);
  }
  for (const char* text : {"", "x", "2(", "2(x", "2(x)", "2(x0)", "2(x3", "(x3)", "2,", "-1",
                           "2(y3)", "2(x3)1", "9999999999", "1(x99999999)"}) {
    INFO(text);
    CHECK(launch::expand_task_counts(text).empty());
  }
}

}  // namespace slurm_lists_test
