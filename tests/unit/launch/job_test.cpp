#include "core/process.hpp"
#include "core/version.hpp"
#include "launch/job.hpp"
#include "support/catch.hpp"
#include "support/source_dir.hpp"
#include <nlohmann/json.hpp>
#include <fstream>

namespace job_test {

using namespace trainx;

TEST_CASE("a job survives JSON, every field of it") {
  launch::Job job;
  job.command = "generate";
  job.resolved_recipe = "run: {seed: 1}\n";
  job.recipe_source = "# mine\n";
  job.origins = {{"run.seed", "x.yaml:1:7"}};
  job.facts.hardware.cpu_cores = 7;
  job.plan_fingerprint = "abc";
  job.choices = {"parallel.tensor 2: 1 would not fit"};
  job.run_folder = "outputs/x";
  job.fork_name = "y";
  job.checkpoint = "outputs/x/best";
  job.argv = {"trainx", "train"};
  job.generate = {"Once\n\"upon\"",
                  "folders/t",
                  5,
                  {0.1, 3, 0.7},
                  {4, 0.5},
                  18446744073709551615ULL,
                  true,
                  launch::GenerateOn::gpu};
  job.membership = {3, 8, 1, 2, "host", 29500, 4, "flags 1", "5ec7e7", "flags"};
  job.output = {true, false, true, true, 5};
  job.directory = "/home/x";
  job.build = {{"commit", "c0ffee"}};
  job.log = {{"debug", "recipe read"}};
  job.overwrite = "1 2";
  job.eval_batches = true;
  const auto j = launch::to_json(job);
  const launch::Job copy = launch::job_from_json(nlohmann::json::parse(j.dump()));
  CHECK(launch::to_json(copy) == j);
  CHECK(copy.directory == "/home/x");
  CHECK(copy.build.at("commit") == "c0ffee");
  CHECK(copy.log.at(0).second == "recipe read");
  CHECK(copy.overwrite == "1 2");
  CHECK(copy.eval_batches);
  CHECK(copy.output.console == 5);
  CHECK(copy.generate.seed == 18446744073709551615ULL);
  CHECK(copy.generate.prompt == "Once\n\"upon\"");
  CHECK(copy.generate.tokenizer == "folders/t");
  CHECK(copy.generate.max_tokens == 5);
  CHECK(copy.generate.sampling == launch::SamplingOptions{0.1, 3, 0.7});
  CHECK(copy.generate.beam == launch::BeamOptions{4, 0.5});
  CHECK(copy.generate.ignore_end_of_text);
  CHECK(copy.generate.device == launch::GenerateOn::gpu);
  CHECK(copy.facts.hardware.cpu_cores == 7);
  CHECK(copy.origins.at("run.seed") == "x.yaml:1:7");
  CHECK(copy.membership.rank == 3);
  CHECK(copy.membership.world_size == 8);
  CHECK(copy.membership.run_id == "flags 1");
  CHECK(copy.membership.secret == "5ec7e7");
  CHECK(copy.output.json);
  CHECK_FALSE(copy.output.quiet);
}

TEST_CASE("the version that trainx prints is the project's") {
  std::ifstream in(source_dir() + "/CMakeLists.txt");
  bool found = false;
  for (std::string line; std::getline(in, line);)
    found = found ||
            line.find("project(trainx VERSION " + std::string(version) + " ") != std::string::npos;
  CHECK(found);
}

TEST_CASE("UTF-8 is told from what is not") {
  for (const char* good :
       {"", "plain", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf"})
    CHECK(is_utf8(good));
  for (const char* bad : {"\xff", "\x80", "\xc3", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                          "\xe2\x82", "a\xe2(\xa1"})
    CHECK_FALSE(is_utf8(bad));
}

}  // namespace job_test
