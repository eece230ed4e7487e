// What `trainx train` does for pairs.yaml, written as a loop of LibTorch.
#include "../plain/plain.hpp"
#include "towers.hpp"

int main(int argc, char** argv) {
  const plain::Settings s = plain::settings(argc, argv);
  torch::manual_seed(s.seed);
  const TowerOptions o;
  const std::int64_t of_query = o.query_length, of_documents = o.documents * o.document_length;
  plain::train(s, build_towers(o, {}), of_query + of_documents, [&](const torch::Tensor& lines) {
    const auto ids = lines.to(torch::kLong);
    return plain::Values{
        {"query", ids.narrow(1, 0, of_query)},
        {"documents",
         ids.narrow(1, of_query, of_documents).view({-1, o.documents, o.document_length})}};
  });
}
