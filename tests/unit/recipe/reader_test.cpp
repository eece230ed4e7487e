#include "recipe/schema.hpp"
#include "recipe/synonyms.hpp"
#include "support.hpp"
#include <algorithm>
#include <chrono>

namespace trainx::recipe::reader_test {

TEST_CASE("five mistakes are listed in one run, each with its place") {
  check_problems(
      "recipe.reader/run_duration_no_unit_steps",
      problems_of("run:\n"
                  "  duration: 2000\n"
                  "  deterministic: yes\n"
                  "optimizer:\n"
                  "  type: adamm\n"
                  "  lr: 010\n"
                  "batch: {global_batch_size: 8, micro_batch_sise: 4, grad_accum_steps: 2}\n"
                  "schedule: {final_ratio: 1.5}\n"),
      {"t.yaml:2:13: run.duration:", "t.yaml:3:18: run.deterministic:",
       "t.yaml:5:9: optimizer.type:", "t.yaml:6:7: optimizer.lr:",
       "t.yaml:7:31: batch.micro_batch_sise:", "t.yaml:8:25: schedule.final_ratio:"});
}

TEST_CASE("what other tools call a key leads to a key that there is") {
  for (const auto& [other, ours] : other_names()) {
    const std::string key(ours.substr(0, ours.find(':')));
    INFO(other << " -> " << ours);
    CHECK(std::any_of(schema_keys().begin(), schema_keys().end(),
                      [&](const FieldHelp& field) { return field.key == key; }));
    CHECK(std::none_of(schema_keys().begin(), schema_keys().end(),
                       [&](const FieldHelp& field) { return field.key == other; }));
  }
  check_problems("recipe.reader/model_options_n_layer_unknown",
                 problems_of(good_batch + "model: {options: {n_layer: 2}}\n"),
                 {"t.yaml:2:19: model.options.n_layer:"});
  check_problems("recipe.reader/eval_micro_batch_size_unknown",
                 problems_of(good_batch + "eval: {micro_batch_size: 2}\n"),
                 {"t.yaml:2:8: eval.micro_batch_size:"});
  check_problems("recipe.reader/eval_zzz_unknown_key", problems_of(good_batch + "eval: {zzz: 2}\n"),
                 {"t.yaml:2:8: eval.zzz:"});
}

TEST_CASE("limits include and exclude their ends") {
  const auto problems_with = [](const std::string& options) {
    return problems_of(good_batch + "optimizer: {options: {" + options + "}}\n").size();
  };
  CHECK(problems_with("beta1: 0") == 0);
  CHECK(problems_with("beta1: 1") == 1);
  CHECK(problems_with("beta1: 0.999999999") == 0);
  CHECK(problems_with("beta1: -1e-300") == 1);
  CHECK(problems_with("eps: 0") == 1);
  CHECK(problems_with("eps: 1e-300") == 0);
  CHECK(problems_of(good_batch + "run: {seed: 9223372036854775807}\n").empty());
  CHECK(problems_of(good_batch + "run: {seed: -1}\n").size() == 1);
  CHECK(problems_of(good_batch + "data: {workers: 256}\n").empty());
  check_problems("recipe.reader/data_workers_must_between_not",
                 problems_of(good_batch + "data: {workers: 257}\n"),
                 {"t.yaml:2:17: data.workers:"});
}

TEST_CASE("documents made to be slow are not") {
  const auto start = std::chrono::steady_clock::now();
  std::string keys;
  for (int i = 0; i < 40000; ++i) keys += "key" + std::to_string(i) + ":\n";
  CHECK(problems_of(keys).size() == 501);
  std::string flood = "x-big: \"" + std::string(60000, 'y') + "\"\nlist:\n";
  for (int i = 0; i < 30000; ++i) flood += "- ${x-big}\n";
  CHECK(problems_of(flood).size() == 501);
  CHECK(problems_of(good_batch + "run: {seed: " + std::string(900000, '9') + "}\n").at(0).size() <
        300);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(20));
}

TEST_CASE("a mistake is told once: what depends on it keeps silent") {
  CHECK(problems_of("batch: {global_batch_size: x, micro_batch_size: 4}\n").size() == 1);
  CHECK(problems_of("batch: [8, 4]\n").size() == 1);
  // the type, and train, which tokens needs
  CHECK(problems_of(good_batch + "data: {type: token, dtype: uint16}\n").size() == 2);
  CHECK(problems_of(good_batch + "data: {type: database, train: x, dtype: uint16}\n").size() == 1);
  // the type, and zzz
  CHECK(problems_of(good_batch +
                    "optimizer: {type: lion, options: {beta1: 0.9, momentum: 0, zzz: 1}}\n")
            .size() == 2);
  CHECK(problems_of(good_batch + "schedule: {type: const, final_ratio: 0.5}\n").size() == 1);
}

}  // namespace trainx::recipe::reader_test
