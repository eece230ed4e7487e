// Two towers for retrieval, which share their embedding: a query is to lie nearest to the first of
// its documents. The loss compares documents of one sample, so that it does not depend on how the
// batch is cut.
#pragma once
#include <torch/torch.h>
#include <trainx/worker.hpp>
#include <cstdint>

struct TowerOptions {
  std::int64_t words = 64, width = 16;
  std::int64_t query_length = 4, document_length = 6, documents = 4;
  double temperature = 0.1;
};

template <class Visitor>
void visit_fields(Visitor& field, TowerOptions& o) {
  field("words", o.words, trainx::at_least(1), "of the vocabulary");
  field("width", o.width, trainx::at_least(1), "features of a word");
  field("query_length", o.query_length, trainx::at_least(1), "words of a query");
  field("document_length", o.document_length, trainx::at_least(1), "words of a document");
  field("documents", o.documents, trainx::at_least(2), "of a query, the right one first");
  field("temperature", o.temperature, trainx::positive(),
        "that similarities are divided by, at first");
}

/// The mean of words' features, through a linear layer, of length 1: ids [..., words] to [...,
/// width].
struct TowerImpl : torch::nn::Module {
  TowerImpl(const torch::Tensor& words, std::int64_t width)
      : table(register_parameter("table", words)),
        linear(register_module("linear", torch::nn::Linear(width, width))) {}
  torch::Tensor forward(const torch::Tensor& ids) {
    const auto x = linear(torch::embedding(table, ids).mean(-2));
    return x / (x.norm(2, -1, true) + 1e-6);
  }
  torch::Tensor table;
  torch::nn::Linear linear;
};
TORCH_MODULE(Tower);

struct ContrastiveLossImpl : torch::nn::Module {
  explicit ContrastiveLossImpl(double t)
      : log_temperature(register_parameter("log_temperature", torch::tensor(t).log())) {}
  trainx::Loss forward(const torch::Tensor& query, const torch::Tensor& documents) {
    const auto similarity = torch::matmul(documents, query.unsqueeze(-1)).squeeze(-1);  // [B, k]
    const auto log_p = torch::log_softmax(similarity.to(torch::kFloat) / log_temperature.exp(), 1);
    return {-log_p.select(1, 0).sum(),
            torch::tensor(query.size(0)),
            {{"first", (similarity.argmax(1) == 0).sum()}}};
  }
  torch::Tensor log_temperature;  // learned; a number
};
TORCH_MODULE(ContrastiveLoss);

inline trainx::Graph build_towers(const TowerOptions& o, const trainx::ModelShape&) {
  trainx::Graph graph;
  graph.field("query", {o.query_length}, trainx::FieldType::i64);
  graph.field("documents", {o.documents, o.document_length}, trainx::FieldType::i64);
  const auto table = torch::randn({o.words, o.width});
  graph.add("query-tower", Tower(table, o.width), {"query"}, {"query-vector"});
  graph.add("document-tower", Tower(table, o.width), {"documents"}, {"document-vectors"});
  graph.add("loss", ContrastiveLoss(o.temperature), {"query-vector", "document-vectors"});
  return graph;
}
