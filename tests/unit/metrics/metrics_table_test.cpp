#include "core/files.hpp"
#include "metrics/metrics_log.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"
#include <limits>
#include <nlohmann/json.hpp>

namespace metrics_table_test {

namespace {

using namespace trainx;
using Json = nlohmann::ordered_json;

std::string table_in(const std::string& folder) { return read_file(folder + "/metrics.csv"); }

}  // namespace

TEST_CASE("metrics.csv has the columns of metrics.jsonl, each from the line on that first has it") {
  const TemporaryFolder folder;
  metrics::MetricsLog log(folder.path(), 0, false);
  CHECK(table_in(folder.path()).empty());
  log.append(Json{{"step", 1}, {"loss", 2.5}});
  log.append(Json{{"step", 2}, {"loss", std::numeric_limits<double>::quiet_NaN()}});
  CHECK(table_in(folder.path()) == "step,loss\n1,2.5\n2,\n");
  log.append(Json{{"step", 2}, {"eval_loss", 2.25}, {"note", "a \"b\", c"}});
  log.append(Json{{"loss", 2}, {"step", 3}});
  CHECK(table_in(folder.path()) ==
        "step,loss,eval_loss,note\n1,2.5,,\n2,,,\n2,,2.25,\"a \"\"b\"\", c\"\n3,2,,\n");
}

TEST_CASE("metrics.csv is cut where metrics.jsonl is, and made for runs that had none") {
  const TemporaryFolder folder;
  write_file_atomic(
      folder.path() + "/metrics.jsonl",
      "{\"step\":1,\"loss\":3}\n{\"step\":2,\"loss\":2}\n{\"step\":3,\"other\":1}\n{\"step\":4,");
  metrics::MetricsLog log(folder.path(), 2, false);
  CHECK(table_in(folder.path()) == "step,loss\n1,3\n2,2\n");
  log.append(Json{{"step", 3}, {"loss", 1.5}});
  CHECK(table_in(folder.path()) == "step,loss\n1,3\n2,2\n3,1.5\n");
}

}  // namespace metrics_table_test
