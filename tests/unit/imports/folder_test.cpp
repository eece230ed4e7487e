// What a model's folder and GLUE's task names say of training.
#include "core/files.hpp"
#include "imports/registry.hpp"
#include "support/temporary_folder.hpp"
#include "unit/imports/support.hpp"
#include <algorithm>
#include <nlohmann/json.hpp>

namespace trainx::imports::folder_test {

using namespace testing;
using nlohmann::json;

namespace {

const std::string mrpc =
    R"({"task_name": "mrpc", "max_seq_length": 128, "per_device_train_batch_size": 8})";

json bert_config() {
  return {{"model_type", "bert"}, {"num_hidden_layers", 2},  {"num_attention_heads", 2},
          {"hidden_size", 16},    {"intermediate_size", 32}, {"max_position_embeddings", 128},
          {"vocab_size", 100}};
}

Choices of_folder(const json& config) {
  const TemporaryFolder folder;
  write_file_atomic(folder / "config.json", config.dump());
  Choices choices;
  choose_model(choices, folder.path());
  choices.data_type = "jsonl";
  choices.train = "t.jsonl";
  choices.sequence_length = 64;
  return choices;
}

}  // namespace

TEST_CASE("a GLUE task becomes classification") {
  Choices choices = all_chosen();
  choices.model_type = "bert";
  choices.data_type = "jsonl";
  choices.train = "t.jsonl";
  check({mrpc, {{"model.options.task", "classification"}, {"model.options.num_labels", "2"}}, {}},
        choices);
  check({R"({"task_name": "mnli", "max_steps": 1})", {{"model.options.num_labels", "3"}}, {}},
        choices);
  check({R"({"task_name": "stsb", "max_steps": 1})",
         {{"model.options.task", "masked_lm"}},
         {"task_name: 'stsb': "}},
        choices);
  check({R"({"task_name": "odd", "max_steps": 1})",
         {{"model.options.task", "masked_lm"}},
         {"task_name: 'odd': "}},
        choices);

  // Without a model its type follows; gpt2 cannot learn it.
  CHECK(import_settings({{"f", mrpc}}, {}).recipe.find("type: bert") != std::string::npos);
  const Imported gpt2 = import_settings({{"f", mrpc}}, all_chosen());
  REQUIRE(gpt2.leftovers.size() == 1);
  CHECK(gpt2.leftovers[0].key == "task_name");
  CHECK(gpt2.leftovers[0].differs);
  recipe_of(gpt2);
}

TEST_CASE("a folder's dropouts are written into the recipe") {
  json config = bert_config();
  config["hidden_dropout_prob"] = 0.2;
  config["attention_probs_dropout_prob"] = 0.3;
  Imported imported = import_settings({{"f", R"({"max_steps": 3})"}}, of_folder(config));
  CHECK(imported.recipe.find(" dropout: 0.2") != std::string::npos);
  CHECK(imported.recipe.find("attention_dropout: 0.3") != std::string::npos);
  CHECK(imported.leftovers.empty());

  config["hidden_dropout_prob"] = 0;
  config["attention_probs_dropout_prob"] = 0;
  imported = import_settings({{"f", R"({"max_steps": 3})"}}, of_folder(config));
  CHECK(imported.leftovers.empty());
  CHECK(imported.recipe.find("dropout: 0.") == std::string::npos);

  // transformers' default where the file is silent.
  imported = import_settings({{"f", R"({"max_steps": 3})"}}, of_folder(bert_config()));
  CHECK(imported.recipe.find("dropout: 0.1") != std::string::npos);

  const json gpt2{{"model_type", "gpt2"}, {"n_layer", 1},      {"n_head", 1},
                  {"n_embd", 8},          {"n_positions", 64}, {"vocab_size", 10},
                  {"resid_pdrop", 0.25},  {"embd_pdrop", 0.5}, {"attn_pdrop", 0}};
  imported = import_settings({{"f", R"({"max_steps": 3})"}}, of_folder(gpt2));
  CHECK(imported.recipe.find("dropout: 0.25") != std::string::npos);
  REQUIRE(imported.leftovers.size() == 1);
  CHECK(imported.leftovers[0].key == "embd_pdrop");
}

TEST_CASE("a classifier's folder gives the task and its classes") {
  json config = bert_config();
  config["architectures"] = json::array({"BertForSequenceClassification"});
  config["id2label"] = {{"0", "a"}, {"1", "b"}, {"2", "c"}};
  const Imported imported = import_settings({{"f", R"({"max_steps": 3})"}}, of_folder(config));
  INFO(imported.recipe);
  CHECK(imported.recipe.find("task: classification") != std::string::npos);
  CHECK(imported.recipe.find("num_labels: 3") != std::string::npos);
}

}  // namespace trainx::imports::folder_test
