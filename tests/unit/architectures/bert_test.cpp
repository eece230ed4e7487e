#include "core/error.hpp"
#include "architectures/architecture.hpp"
#include "architectures/saved_layout.hpp"
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include "support/catch.hpp"

namespace bert_test {

using namespace trainx;
using namespace trainx::architectures;
using namespace trainx::options;

namespace {

BertDims small(Task task) {
  BertDims d{.num_layers = 2,
             .num_heads = 2,
             .hidden_size = 8,
             .intermediate_size = 32,
             .max_positions = 10,
             .vocab_size = 11};
  d.task = task;
  d.num_labels = has_labels(task) ? 3 : 0;
  return d;
}

program::SharedVector<program::GroupSpec> bert_groups(const BertDims& dims) {
  return graph_of(dims, 1, 1, DType::f32).groups;
}

std::map<std::string, std::vector<std::int64_t>> parameters_of(const BertDims& dims) {
  std::map<std::string, std::vector<std::int64_t>> found;
  for (const auto& g : bert_groups(dims))
    for (const auto& p : g.parameters) CHECK(found.emplace(p.name, p.saved_dims).second);
  return found;
}

BertDims from_config(const std::string& text, const std::string& path) {
  return std::get<BertDims>(dims_from_config(text, path));
}

std::int64_t parameters(const BertDims& dims) {
  std::int64_t n = 0;
  for (const auto& g : bert_groups(dims))
    for (const auto& p : g.parameters) n += saved_elements(p);
  return n;
}

std::string complaint(BertOptions options, BertDims dims) {
  try {
    take_settings(options, dims);
  } catch (const UserError& e) {
    CHECK(e.code() == ExitCode::invalid_recipe);
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("published sizes have BERT's numbers of parameters") {
  const auto& published = sizes(BertOptions{});
  CHECK(published.at(0).first == "base");
  BertDims base = published[0].second, large = published.at(1).second;
  CHECK(parameters(base) == 109514298);  // transformers: BertForMaskedLM(BertConfig())
  base.task = large.task = Task::classification;
  base.num_labels = large.num_labels = 2;
  // BertForSequenceClassification of bert-base-uncased
  CHECK(parameters(base) == 109483778);
  CHECK(parameters(large) == 335143938);  // ... of bert-large-uncased
}

TEST_CASE("BERT's parameters have the names and saved shapes of a Hugging Face folder") {
  std::map<std::string, std::vector<std::int64_t>> want{
      {"bert.embeddings.word_embeddings.weight", {11, 8}},
      {"bert.embeddings.position_embeddings.weight", {10, 8}},
      {"bert.embeddings.token_type_embeddings.weight", {2, 8}},
      {"bert.embeddings.LayerNorm.weight", {8}},
      {"bert.embeddings.LayerNorm.bias", {8}}};
  for (const std::string layer : {"bert.encoder.layer.0.", "bert.encoder.layer.1."}) {
    for (const std::string part : {"attention.self.query", "attention.self.key",
                                   "attention.self.value", "attention.output.dense"}) {
      want[layer + part + ".weight"] = {8, 8};
      want[layer + part + ".bias"] = {8};
    }
    for (const std::string norm : {"attention.output.LayerNorm", "output.LayerNorm"})
      want[layer + norm + ".weight"] = want[layer + norm + ".bias"] = {8};
    want[layer + "intermediate.dense.weight"] = {32, 8};
    want[layer + "intermediate.dense.bias"] = {32};
    want[layer + "output.dense.weight"] = {8, 32};
    want[layer + "output.dense.bias"] = {8};
  }
  auto classifier = want, masked = want;
  classifier["bert.pooler.dense.weight"] = {8, 8};
  classifier["bert.pooler.dense.bias"] = {8};
  classifier["classifier.weight"] = {3, 8};
  classifier["classifier.bias"] = {3};
  const std::string head = "cls.predictions.";
  masked[head + "bias"] = {11};
  masked[head + "transform.dense.weight"] = {8, 8};
  for (const char* vector :
       {"transform.dense.bias", "transform.LayerNorm.weight", "transform.LayerNorm.bias"})
    masked[head + vector] = {8};
  CHECK(parameters_of(small(Task::classification)) == classifier);
  CHECK(parameters_of(small(Task::masked_lm)) == masked);
}

TEST_CASE("queries, keys and values follow one another, whatever the width; all else is aligned") {
  BertDims dims = small(GENERATE(Task::masked_lm, Task::classification));
  dims.hidden_size = GENERATE(8, 21, 128);
  dims.num_heads = 1;
  for (const auto& g : bert_groups(dims)) {
    std::int64_t end = 0;
    bool decay = true;
    for (const auto& p : g.parameters) {
      INFO(p.name);
      const bool continues = p.name.find(".self.key") != std::string::npos ||
                             p.name.find(".self.value") != std::string::npos;
      if (continues)
        CHECK(p.offset == end);
      else
        CHECK(p.offset % program::group_alignment == 0);
      CHECK(p.offset >= end);
      CHECK((decay || !p.decay));
      CHECK(p.decay == (p.dims.size() == 2));
      decay = p.decay;
      end = p.offset + p.elements();
    }
    CHECK(g.elements >= end);
    CHECK(g.elements % program::group_alignment == 0);
  }
}

TEST_CASE(
    "tensors of BERT's folders are known by all their names, and what is no parameter is left "
    "out") {
  const BertDims classifier = small(Task::classification), masked = small(Task::masked_lm);
  for (const BertDims& d : {classifier, masked}) {
    CHECK(parameter_of(d, "encoder.layer.0.output.dense.bias") ==
          "bert.encoder.layer.0.output.dense.bias");
    CHECK(parameter_of(d, "bert.encoder.layer.0.output.dense.bias") ==
          "bert.encoder.layer.0.output.dense.bias");
    CHECK(parameter_of(d, "bert.embeddings.LayerNorm.gamma") == "bert.embeddings.LayerNorm.weight");
    CHECK(parameter_of(d, "embeddings.LayerNorm.beta") == "bert.embeddings.LayerNorm.bias");
    // and is then named as what the model lacks
    CHECK(parameter_of(d, "something.else") == "something.else");
    for (const char* other :
         {"cls.predictions.decoder.weight", "cls.seq_relationship.bias", "qa_outputs.weight"})
      CHECK(parameter_of(d, other).empty());
  }
  CHECK(parameter_of(classifier, "pooler.dense.weight") == "bert.pooler.dense.weight");
  CHECK(parameter_of(masked, "pooler.dense.weight").empty());
  CHECK(parameter_of(masked, "classifier.weight").empty());
  CHECK(parameter_of(classifier, "cls.predictions.bias").empty());
  CHECK(parameter_of(masked, "cls.predictions.bias") == "cls.predictions.bias");
}

TEST_CASE("a head may be missing only in a folder that was made without it") {
  for (const Task task : {Task::classification, Task::masked_lm})
    for (const std::optional<Task> head :
         {std::optional<Task>(), std::optional(Task::classification),
          std::optional(Task::masked_lm)}) {
      BertDims d = small(task);
      d.head = head;
      for (const auto& g : bert_groups(d))
        for (const auto& p : g.parameters) {
          INFO(p.name);
          const bool of_head = p.name.starts_with("cls.") || p.name.starts_with("classifier.") ||
                               p.name.starts_with("bert.pooler.");
          CHECK(p.optional == (of_head && head != task));
        }
    }
}

TEST_CASE(
    "BERT's graph is sound: slots name what exists, outputs say what they come from, writers come "
    "before readers") {
  BertDims dims =
      small(GENERATE(Task::masked_lm, Task::classification, Task::token_classification));
  if (dims.task == Task::classification)
    dims.problem_type = GENERATE(ProblemType::single_label_classification, ProblemType::regression,
                                 ProblemType::multi_label_classification);
  dims.dropout = GENERATE(0.0, 0.1);
  const DType compute = GENERATE(DType::f32, DType::bf16);
  const auto graph =
      graph_of(dims, 3, 7, compute, GENERATE(GraphOptions::on_cpu(2), GraphOptions::on_gpu()));
  CHECK(graph.blocks.size() == 6);
  CHECK(graph.tokens == 21);
  std::set<int> written;
  for (const auto& block : graph.blocks) {
    INFO(block.name);
    for (const auto& [op, phase] : block.phases) {
      std::set<int> slots;
      for (const auto& u : phase.uses) {
        REQUIRE(u.slot < static_cast<int>(block.slots.size()));
        CHECK(slots.insert(u.slot).second);
        const auto& s = block.slots[u.slot];
        CHECK(!s.name.empty());
        CHECK(s.tensor.elements() > 0);
        if (s.role == program::Role::value) {
          CHECK(s.tensor.bytes() == graph.values.at(s.index).bytes());
          if (u.how == program::How::read && op != program::Op::backward)
            CHECK(written.count(s.index) == 1);
          if (u.how != program::How::read) written.insert(s.index);
        }
        if (op != program::Op::forward || u.how == program::How::read) continue;
        CHECK(!s.from.empty());
        for (int from : s.from) CHECK(slots.count(from) == 1);
      }
    }
  }
  CHECK_THROWS_AS(graph_of(dims, 3, 11, compute), InternalError);
  CHECK(graph_of(dims, 3, 7, compute, GraphOptions::on_gpu()).without_gpu_kernel.empty());
}

TEST_CASE("what a step of BERT keeps until backward") {
  // A layer of width C keeps, in units of a micro-batch's rows times C: both sums, queries, keys
  // and values, the attention's result and the MLP's inside (4); without activation checkpointing
  // both norms' results and the activated MLP (4) too. The first block has no norm.
  BertDims dims = small(Task::classification);
  dims.hidden_size = 128;
  dims.intermediate_size = 512;
  const auto graph = graph_of(dims, 2, 5, DType::f32);
  const double unit = 10 * 128 * 4;
  double cheap = 0, dear = 0;
  for (const auto& block : graph.blocks)
    for (const auto& s : block.slots)
      if (s.role == program::Role::saved && s.tensor.dims.size() > 1 && s.name != "lse")
        (s.cheap ? cheap : dear) += static_cast<double>(s.tensor.bytes()) / unit;
  CHECK(dear == 2 * (3 + 1 + 4));
  CHECK(cheap == 2 * (2 + 4) - 1);
}

TEST_CASE("floating-point operations of a BERT step are those of the usual count") {
  BertDims dims = sizes(BertOptions{}).front().second;
  const std::int64_t T = 128, B = 4;
  const bool classification = GENERATE(true, false);
  if (classification) dims.task = Task::classification, dims.num_labels = 2;
  const auto graph = graph_of(dims, B, T, DType::bf16);
  double gemm = 0, attention = 0;
  for (const auto& block : graph.blocks)
    for (const auto& [op, phase] : block.phases)
      if (op == program::Op::forward || op == program::Op::backward || op == program::Op::loss) {
        gemm += phase.gemm_flops();
        attention += phase.attention_flops;
      }
  // 6 per weight of a matrix and row: all rows in the layers, a row a sample in the classifier, 15
  // % of the rows in masked_lm's head.
  const double tokens = static_cast<double>(B * T), layers = 12.0 * (12 * 768 * 768),
               rows = classification ? static_cast<double>(B) : std::round(0.15 * tokens);
  const double head = classification
                          ? 768.0 * 768 + 2 * 768
                          : 768.0 * 768 + static_cast<double>(dims.padded_vocab_size()) * 768;
  CHECK(std::abs(gemm / (6 * layers * tokens + 6 * head * rows) - 1) < 1e-12);
  CHECK(std::abs(attention / (tokens * 12 * (14.0 * T * 768)) - 1) < 1e-12);
}

TEST_CASE(
    "on a GPU BERT's head takes logits in the compute type, and rows with a target in whole chunks "
    "that are rarely too few") {
  BertDims dims = small(Task::masked_lm);
  dims.max_positions = 512;
  for (const double probability : {0.01, 0.15, 1.0})
    for (const std::int64_t B : {1, 16, 64, 256}) {
      INFO("probability " << probability << " batch " << B);
      dims.mask_probability = probability;
      const std::int64_t N = B * 512;
      const auto graph = graph_of(dims, B, 512, DType::bf16, GraphOptions::on_gpu());
      const double expected = probability * static_cast<double>(N);
      std::int64_t logits = 0, products = 0;
      for (const auto& s : graph.blocks.back().slots) {
        if (s.name != "logits_chunk") continue;
        CHECK(s.tensor.dtype == DType::bf16);
        logits = s.tensor.dims.at(0);
      }
      for (const auto& g : graph.blocks.back().phases.at(program::Op::evaluate).gemms)
        if (g.n == dims.padded_vocab_size()) products += g.m * g.count;
      CHECK(logits == graph.target_chunk);
      CHECK(graph.target_chunk <= 8192);
      CHECK(
          static_cast<double>(products) >=
          std::min(static_cast<double>(N), expected + 4 * std::sqrt(expected * (1 - probability))));
      CHECK(static_cast<double>(products) <=
            std::min(static_cast<double>(N), expected + 4 * std::sqrt(expected) + 64 +
                                                 static_cast<double>(products) / 8192));
    }
  CHECK(graph_of(small(Task::classification), 3, 7, DType::bf16, GraphOptions::on_gpu())
            .target_chunk == 0);
}

TEST_CASE("settings of BERT that do not fit together are refused by name") {
  const BertDims dims = sizes(BertOptions{}).front().second;
  CHECK(complaint({}, dims).empty());
  CHECK(complaint({.task = Task::classification, .num_labels = 2}, dims).empty());
  CHECK(complaint({.task = Task::causal_lm}, dims).find("model.options.task: ") == 0);
  CHECK(complaint({.task = Task::classification}, dims).find("model.options.num_labels ") == 0);
  CHECK(complaint({.num_labels = 2}, dims).find("model.options.num_labels ") == 0);
  CHECK(complaint({.task = Task::classification, .num_labels = 2, .mask_probability = 0.2}, dims)
            .find("model.options.mask_probability") == 0);
  CHECK(complaint({.task = Task::classification, .num_labels = 2, .mask_token = {4}}, dims)
            .find("model.options.mask_token") == 0);
  CHECK(complaint({.task = Task::classification,
                   .num_labels = 2,
                   .special_tokens = {std::vector<std::int64_t>{}}},
                  dims)
            .find("model.options.special_tokens") == 0);
  CHECK(complaint({.mask_token = {30522}}, dims).find("model.options.mask_token (30522)") == 0);
  const Task tokens = Task::token_classification;
  CHECK(complaint({.task = tokens, .num_labels = 2}, dims).empty());
  CHECK(complaint({.task = tokens}, dims).find("model.options.num_labels ") == 0);
  CHECK(complaint({.task = tokens, .num_labels = 1}, dims).find("model.options.num_labels ") == 0);
  const auto several = ProblemType::multi_label_classification,
             single = ProblemType::single_label_classification;
  CHECK(complaint({.task = tokens, .num_labels = 2, .problem_type = {several}}, dims)
            .find("model.options.problem_type ") == 0);
  CHECK(complaint({.problem_type = {several}}, dims).find("model.options.problem_type ") == 0);
  CHECK(complaint({.task = Task::classification, .num_labels = 1, .problem_type = {single}}, dims)
            .find("model.options.num_labels ") == 0);
}

TEST_CASE("what labels are follows from the recipe, else from the folder, else from their number") {
  using enum ProblemType;
  const BertDims bare = small(Task::masked_lm);
  BertDims folder = small(Task::classification);
  folder.head = Task::classification;
  folder.problem_type = multi_label_classification;
  const auto decided = [](std::int64_t labels, Auto<ProblemType> written, BertDims d) {
    BertOptions o{.task = Task::classification, .num_labels = labels, .problem_type = written};
    take_settings(o, d);
    CHECK(o.problem_type.value == d.problem_type);
    CHECK(label_values(d) == (d.problem_type == single_label_classification ? 0 : labels));
    return d.problem_type;
  };
  CHECK(decided(1, {}, bare) == regression);
  CHECK(decided(3, {}, bare) == single_label_classification);
  CHECK(decided(3, {regression}, bare) == regression);
  CHECK(decided(1, {multi_label_classification}, bare) == multi_label_classification);
  CHECK(decided(3, {}, folder) == multi_label_classification);
  CHECK(decided(3, {regression}, folder) == regression);
  folder.head = Task::token_classification;
  CHECK(decided(3, {}, folder) == single_label_classification);
}

TEST_CASE("config.json says what labels are; heads of texts and of tokens are told apart") {
  using nlohmann::json;
  using enum ProblemType;
  const auto read = [](const char* more, const char* of = "BertForSequenceClassification") {
    json config = json::parse(config_text(small(Task::classification), DType::f32));
    for (const char* key : {"problem_type", "num_labels", "id2label", "label2id"})
      config.erase(key);
    config["architectures"] = {of};
    config.update(json::parse(more));
    return from_config(config.dump(), "c");
  };
  CHECK(read("{}").problem_type == single_label_classification);
  CHECK(read(R"({"num_labels": 1})").problem_type == regression);
  CHECK(read(R"({"id2label": {"0": "score"}})").problem_type == regression);
  CHECK(read(R"({"num_labels": 3, "problem_type": "regression"})").problem_type == regression);
  CHECK(read(R"({"num_labels": 1, "problem_type": "multi_label_classification"})").problem_type ==
        multi_label_classification);
  CHECK_THROWS_AS(read(R"({"num_labels": 1, "problem_type": "single_label_classification"})"),
                  UserError);
  const BertDims tokens = read(R"({"num_labels": 5})", "BertForTokenClassification");
  CHECK(tokens.task == Task::token_classification);
  CHECK(tokens.head == Task::token_classification);
  CHECK(tokens.num_labels == 5);
  CHECK_THROWS_AS(read(R"({"num_labels": 1})", "BertForTokenClassification"), UserError);
  CHECK(parameter_of(tokens, "classifier.weight") == "classifier.weight");
  CHECK(parameter_of(tokens, "bert.pooler.dense.weight").empty());
  CHECK(parameters_of(tokens).contains("classifier.weight"));
  CHECK(!parameters_of(tokens).contains("bert.pooler.dense.weight"));
  BertDims other = tokens;  // trained for texts from a folder for tokens
  other.task = Task::classification;
  CHECK(parameter_of(other, "classifier.weight").empty());
  BertDims roberta = sizes(BertOptions{.name = "roberta"}).front().second;
  roberta.num_labels = 2;
  for (const Task task : {Task::classification, Task::token_classification}) {
    roberta.task = task;
    CHECK(parameter_of(roberta, "classifier.weight").empty() == (task == Task::classification));
    CHECK(parameter_of(roberta, "classifier.dense.weight").empty() ==
          (task == Task::token_classification));
    CHECK(parameter_of(roberta, "lm_head.bias").empty());
  }
}

TEST_CASE("BERT's config.json comes back as written") {
  for (auto [name, dims] : sizes(BertOptions{})) {
    dims.layer_norm_epsilon = 1e-6;
    dims.type_vocab_size = 3;
    dims.pad_token = GENERATE(-1, 0, 7);
    const bool classification = GENERATE(true, false);
    if (classification) {
      dims.task = Task::classification;
      dims.num_labels = 3;
      dims.labels = {"yes", "no", "neither"};
    }
    const ModelDims read = dims_from_config(config_text(dims, DType::f32), "config.json");
    const BertDims& back = std::get<BertDims>(read);
    CHECK(back.num_layers == dims.num_layers);
    CHECK(back.num_heads == dims.num_heads);
    CHECK(back.hidden_size == dims.hidden_size);
    CHECK(back.intermediate_size == dims.intermediate_size);
    CHECK(back.max_positions == dims.max_positions);
    CHECK(back.vocab_size == dims.vocab_size);
    CHECK(back.type_vocab_size == 3);
    CHECK(back.layer_norm_epsilon == dims.layer_norm_epsilon);
    CHECK(back.pad_token == dims.pad_token);
    CHECK(back.task == dims.task);
    CHECK(back.head == dims.task);
    CHECK(back.num_labels == dims.num_labels);
    CHECK(back.labels == dims.labels);
    CHECK(config_text(read, DType::f32) == config_text(dims, DType::f32));
  }
}

TEST_CASE("a BERT's config.json that trainx does not compute is refused by the key's name") {
  using nlohmann::json;
  // As the folder `bert-base-uncased` on the Hugging Face hub has it, with a classifier.
  const json good = json::parse(
      R"({"architectures": ["BertForSequenceClassification"], "attention_probs_dropout_prob": 0.1, "gradient_checkpointing": false, "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1, "hidden_size": 768, "initializer_range": 0.02, "intermediate_size": 3072, "layer_norm_eps": 1e-12, "max_position_embeddings": 512,
    "model_type": "bert", "num_attention_heads": 12, "num_hidden_layers": 12, "pad_token_id": 0, "position_embedding_type": "absolute", "transformers_version": "4.6.0.dev0",
    "type_vocab_size": 2, "use_cache": true, "vocab_size": 30522, "id2label": {"0": "LABEL_0", "1": "LABEL_1", "2": "LABEL_2"}})");
  const BertDims dims = from_config(good.dump(), "here/config.json");
  CHECK(dims.num_labels == 3);
  CHECK(dims.head == Task::classification);
  CHECK(dims.dropout == 0.1);
  CHECK(dims.attention_dropout == 0.1);
  CHECK(dropout_remarks(good.dump(), "c", BertDims{.dropout = 0.1}).empty());
  json differing = good;
  differing["classifier_dropout"] = 0.3;
  CHECK(dropout_remarks(differing.dump(), "c", BertDims{.dropout = 0.1}).size() == 1);
  CHECK(dropout_remarks(differing.dump(), "c", BertDims{.dropout = 0.2}).empty());
  differing["classifier_dropout"] = nullptr;
  CHECK(dropout_remarks(differing.dump(), "c", BertDims{.dropout = 0.1}).empty());
  json bare = good;
  bare["architectures"] = {"BertModel"};
  CHECK(from_config(bare.dump(), "c").head == std::nullopt);
  bare["architectures"] = {"BertForPreTraining"};
  CHECK(from_config(bare.dump(), "c").head == Task::masked_lm);

  const std::vector<std::pair<std::string, json>> changes{
      {"model_type", "deberta"},
      {"hidden_act", "relu"},
      {"hidden_act", "gelu_new"},
      {"position_embedding_type", "relative_key"},
      {"is_decoder", true},
      {"add_cross_attention", true},
      {"tie_word_embeddings", false},
      {"num_hidden_layers", 0},
      {"num_attention_heads", 5},
      {"hidden_size", "768"},
      {"max_position_embeddings", -1},
      {"vocab_size", 3.5},
      {"layer_norm_eps", 0},
      {"type_vocab_size", 0},
      {"pad_token_id", 30522},
      {"pad_token_id", -1},
      {"problem_type", "ranking"},
      {"problem_type", 1},
      {"num_labels", 1},
      {"num_labels", 2},
      {"num_labels", 5000},
      {"id2label", {{"1", "a"}, {"2", "b"}}},
      {"id2label", {1, 2}},
      {"id2label", nlohmann::json::object()},
      {"pruned_heads", {{"0", {1}}}}};
  for (const auto& [key, value] : changes) {
    json bad = good;
    bad[key] = value;
    INFO(key << " " << value.dump());
    try {
      dims_from_config(bad.dump(), "here/config.json");
      FAIL("accepted");
    } catch (const UserError& e) {
      CHECK(e.code() == ExitCode::bad_data);
      CHECK(std::string(e.what()).find("here/config.json: ") == 0);
      CHECK(std::string(e.what()).find(key) != std::string::npos);
    }
  }
  for (const char* missing :
       {"num_hidden_layers", "num_attention_heads", "hidden_size", "intermediate_size",
        "max_position_embeddings", "vocab_size", "model_type"}) {
    json bad = good;
    bad.erase(missing);
    CHECK_THROWS_AS(dims_from_config(bad.dump(), "config.json"), UserError);
  }
}

}  // namespace bert_test
