// Evaluation drops nothing: with each of its dropouts a model of every family has the held-out loss
// that it has without.
#include "architectures/architecture.hpp"
#include "architectures/families/encoder_family.hpp"
#include "architectures/families/family.hpp"
#include "architectures/families/seq2seq_family.hpp"
#include "plain_run.hpp"
#include "support/catch.hpp"
#include "support/small_decoder.hpp"
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

namespace evaluation_test {

using namespace trainx;
using architectures::BertDims;
using architectures::ModelDims;
using architectures::Seq2SeqDims;
using model::test::PlainRun;

namespace {

constexpr std::int64_t vocabulary = 50;

struct Case {
  std::string name;
  ModelDims dims;
};

/// The same with one of its dropouts, for each that the dims have.
std::vector<Case> dropping(const Case& plain) {
  std::vector<Case> all;
  const auto add = [&](const char* which, auto set) {
    Case c{plain.name + ", " + which, plain.dims};
    if (std::visit(set, c.dims)) all.push_back(std::move(c));
  };
  add("dropout", [](auto& d) {
    if constexpr (requires { d.dropout; }) return d.dropout = 0.5, true;
    return false;
  });
  add("attention_dropout", [](auto& d) {
    if constexpr (requires { d.rotates(); })
      if (d.rotates()) return false;  // such layers have none
    if constexpr (requires { d.attention_dropout; }) return d.attention_dropout = 0.5, true;
    return false;
  });
  add("activation_dropout", [](auto& d) {
    if constexpr (requires { d.activation_dropout; }) return d.activation_dropout = 0.5, true;
    return false;
  });
  return all;
}

PlainRun training_run(const ModelDims& dims) {
  const program::ModelGraph graph =
      architectures::model_graph(dims, 2, 12, DType::f32, architectures::GraphOptions::on_cpu(2));
  PlainRun run(dims, graph, program::plain_program(graph, {}));
  run.fill_parameters(5);
  run.fill_batch(6, vocabulary, 0.2);
  if (architectures::task(dims) == architectures::Task::token_classification)
    run.buffer("targets", DType::i32).clamp_(-100, 1);  // of two classes
  if (run.memory.contains("target_tokens"))
    run.buffer("target_tokens", DType::i32).copy_(run.buffer("targets", DType::i32).clamp_min(0));
  if (run.memory.contains("document_starts")) run.buffer("document_starts", DType::i32).zero_();
  run.loss_seed = 1.0 / 64;
  return run;
}

double loss_of(PlainRun& run) {
  run.run();
  return run.buffer("loss_sum", DType::f64).item<double>();
}

/// In memory that begins as NaN, with the weights and batch of `train`.
double held_out_loss(PlainRun& train, const ModelDims& dims) {
  PlainRun run(dims, train.graph,
               program::forward_program(train.program, train.graph, program::Op::evaluate));
  run.mode = model::Mode::eval;
  for (const auto& group : train.graph.groups)
    run.memory.at("w." + group.name).copy_(train.memory.at("w." + group.name));
  for (const auto& field : train.graph.batch)
    run.memory.at(field.name).copy_(train.memory.at(field.name));
  return loss_of(run);
}

/// Evaluates with each dropout of `plain`; returns how many there are.
int check(const Case& plain) {
  PlainRun train = training_run(plain.dims);
  const double want = held_out_loss(train, plain.dims), trained = loss_of(train);
  int dropouts = 0;
  for (const Case& c : dropping(plain)) {
    INFO(c.name);
    PlainRun run = training_run(c.dims);
    // attention with dropout is computed by other loops
    CHECK(std::abs(held_out_loss(run, c.dims) - want) <=
          (c.name.ends_with("attention_dropout") ? 1e-6 * want : 0));
    CHECK(loss_of(run) != trained);  // it drops in training
    ++dropouts;
  }
  return dropouts;
}

BertDims shrunk(BertDims d, architectures::Task task) {
  d.num_layers = 2, d.num_heads = 4, d.hidden_size = 32, d.intermediate_size = 48;
  d.max_positions = 32, d.vocab_size = vocabulary;
  d.type_vocab_size = std::max<std::int64_t>(d.type_vocab_size, 2);
  if (d.embedding_size > 0) d.embedding_size = 16;
  d.task = task;
  d.num_labels = architectures::has_labels(task) ? 2 : 0;
  d.pad_token = -1;
  return d;
}

}  // namespace

TEST_CASE("decoders of every family evaluate without their dropouts") {
  int dropouts = 0;
  for (const architectures::Family& family : architectures::families()) {
    const std::string name(family.name);
    INFO(name);
    dropouts += check(
        {name, architectures::dims_from_config(small_decoder::small(name).dump(), "config.json")});
  }
  CHECK(dropouts > 40);
}

TEST_CASE("GPT-2 evaluates without its dropouts") {
  architectures::Gpt2Dims d;
  d.num_layers = 2, d.num_heads = 2, d.hidden_size = 16, d.max_positions = 16;
  d.vocab_size = vocabulary;
  CHECK(check({"gpt2", d}) == 2);
}

TEST_CASE("encoders of every family and task evaluate without their dropouts") {
  using architectures::Task;
  for (const architectures::EncoderFamily& family : architectures::encoder_families())
    for (const Task task : {Task::masked_lm, Task::classification, Task::token_classification}) {
      const std::string name = std::string(family.name) + " " + std::string(name_of(task));
      INFO(name);
      CHECK(check({name, shrunk(family.sizes.front().second, task)}) >= 1);
    }
}

TEST_CASE("encoder-decoders of every family evaluate without their dropouts") {
  for (const architectures::Seq2SeqFamily& family : architectures::seq2seq_families())
    for (const auto& [size, config] : family.sizes) {
      INFO(family.name << " " << size);
      nlohmann::json small = nlohmann::json::parse(config);
      small["model_type"] = family.name;
      auto d = std::get<Seq2SeqDims>(architectures::dims_from_config(small.dump(), "config.json"));
      d.num_layers = 2, d.num_decoder_layers = 2, d.num_heads = 4, d.num_decoder_heads = 4;
      if (d.head_size > 0) d.head_size = 8;
      d.hidden_size = 32, d.intermediate_size = 48, d.decoder_intermediate_size = 48;
      d.vocab_size = vocabulary, d.max_positions = 32, d.pad_token = -1;
      d.longest_source = d.longest_target = 12;
      CHECK(check({std::string(family.name), d}) == 3);
    }
}

}  // namespace evaluation_test
