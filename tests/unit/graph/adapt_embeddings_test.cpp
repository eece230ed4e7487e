// What stands behind embeddings and heads that have adapters or rows of their own.
#include "core/error.hpp"
#include "graph/builder.hpp"
#include "graph/check_model.hpp"
#include "graph/passes/graph_passes.hpp"
#include "graph/print_model.hpp"
#include "graph/to_blocks.hpp"
#include "support/catch.hpp"

namespace adapt_embeddings_test {

using namespace trainx;
using namespace trainx::graph;

namespace {

constexpr std::int64_t C = 4;

Model model_of(double dropout, double scale) {
  ModelBuilder m({.batch_size = 1, .length = 2, .dropout = dropout},
                 {"tokens", "targets", "positions"});
  const Value h = m.embedding({.hidden_size = C,
                               .token = "t.weight",
                               .position = "p.weight",
                               .tokens = {.rows = 5, .padded_rows = 8},
                               .positions = {2},
                               .scale = scale});
  m.begin_head({.expected_rows = 2, .chunk = 2, .targets = m.batch("targets").id});
  m.loss(m.layer_norm(h, "last"), {.tied_to = "t.weight", .classes = 5},
         operations::CrossEntropy::Score::none);
  return m.finish();
}

void adapt(Model& model, const AdapterOptions& adapter) {
  add_adapters(model, {.adapter = adapter});
  adapt_embeddings(model, {.adapter = adapter});
  check_model(model, "adapt_embeddings");
}

template <class Operation>
const Node& first(const Model& model) {
  for (const Block& block : model.blocks)
    for (const Node& op : block.ops)
      if (std::holds_alternative<Operation>(op.operation)) return op;
  throw InternalError("there is none");
}

const program::ParameterSpec& parameter(const Model& model, const std::string& name) {
  for (const ModelParameter& p : model.parameters)
    if (p.spec.name == name) return p.spec;
  throw InternalError("no parameter " + name);
}

}  // namespace

TEST_CASE("an embedding's adapter looks up narrow rows") {
  Model model = model_of(0, 3);
  adapt(model, {.embeddings = {{"t.weight", {"t", 2, 0.5}}}});
  CHECK(print(model) ==
        "embedding embedding tokens (frozen:t.weight frozen:p.weight) > residual0_base\n"
        "embedding embedding tokens (t.lora_A.weight) > narrow\n"
        "embedding linear narrow (t.lora_B.weight) > added\n"
        "embedding residual_norm residual0_base added () > residual0\n"
        "head residual_norm residual0 (frozen:last.weight frozen:last.bias) > mean rstd normed\n"
        "head linear normed (frozen:t.weight) > logits_chunk\n"
        "head cross_entropy logits_chunk targets () >\n");
  CHECK(model.blocks.front().kind == BlockKind::layer);
  // the embedding's scale counts for what is added, too
  CHECK(std::get<operations::ResidualNorm>(model.blocks.front().ops.at(3).operation).branch_scale ==
        1.5);
  const program::ParameterSpec &a = parameter(model, "t.lora_A.weight"),
                               &b = parameter(model, "t.lora_B.weight");
  CHECK(a.dims == std::vector<std::int64_t>{8, 2});
  CHECK(a.saved_dims == std::vector<std::int64_t>{2, 5});
  CHECK(a.saved_transposed);
  CHECK(a.initializer == program::Initializer::zeros);
  CHECK(b.dims == std::vector<std::int64_t>{C, 2});
  CHECK(b.initializer == program::Initializer::normal);
  CHECK(b.standard_deviation == 1);
}

TEST_CASE("an embedding's dropout follows what is added") {
  Model model = model_of(0.1, 1);
  adapt(model, {.embeddings = {{"t.weight", {"t", 2, 1}}}});
  const std::vector<Node>& ops = model.blocks.front().ops;
  CHECK(std::get<operations::Embedding>(ops.front().operation).dropout == 0);
  CHECK(std::get<operations::DropoutLayer>(ops.back().operation).probability == 0.1);
}

TEST_CASE("rows of tokens stand in the place of a table's and of a tied head's") {
  Model model = model_of(0, 1);
  adapt(model, {.token_rows = {{"t.weight", {"t", {4, 1}}}}});
  CHECK(print(model) ==
        "embedding embedding tokens (frozen:t.weight frozen:p.weight) > residual0_base\n"
        "embedding token_rows tokens residual0_base (t.trainable_tokens_delta frozen:t.weight) > "
        "residual0\n"
        "head residual_norm residual0 (frozen:last.weight frozen:last.bias) > mean rstd normed\n"
        "head linear normed (frozen:t.weight) > logits_chunk_base\n"
        "head token_logits normed logits_chunk_base (t.trainable_tokens_delta) > logits_chunk\n"
        "head cross_entropy logits_chunk targets () >\n");
  CHECK(std::get<operations::TokenRows>(first<operations::TokenRows>(model).operation).ids ==
        std::vector<std::int32_t>{4, 1});
  const program::ParameterSpec& rows = parameter(model, "t.trainable_tokens_delta");
  CHECK(rows.dims == std::vector<std::int64_t>{3, C});
  CHECK(rows.saved_dims == std::vector<std::int64_t>{2, C});
}

TEST_CASE("adapters of other tables are passed over") {
  Model model = model_of(0, 1);
  const std::string before = print(model);
  adapt_embeddings(model, {.adapter = {.embeddings = {{"other.weight", {"other", 2, 1}}},
                                       .token_rows = {{"another.weight", {"another", {1}}}}}});
  CHECK(print(model) == before);
}

}  // namespace adapt_embeddings_test
