#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace trainx::graph {

/// An adapter of low rank (operations::LowRank).
struct LowRankOptions {
  std::string module;  // what its parameters are called after
  std::int64_t rank = 1;
  double scale = 1;
  bool operator==(const LowRankOptions&) const = default;
};

/// Rows of a table or a head that are trained instead of its weight's (operations::TokenRows).
struct TokenRowsOptions {
  std::string module;  // what their parameter is called after
  std::vector<std::int32_t> ids;
  bool operator==(const TokenRowsOptions&) const = default;
};

/// What is trained instead of the model's own weights.
struct AdapterOptions {
  // by names of weights: of linear layers, of routers, and of the first of a layer's experts
  std::map<std::string, LowRankOptions> weights = {};
  std::set<std::string> trained = {};  // parameters that are trained whole
  double dropout = 0;                  // of what adapters read
  // by names of tables of tokens; their scale is without the embedding's own
  std::map<std::string, LowRankOptions> embeddings = {};
  // by names of tables of tokens and of weights of heads
  std::map<std::string, TokenRowsOptions> token_rows = {};
  bool operator==(const AdapterOptions&) const = default;
  bool adapts_embeddings() const { return !embeddings.empty() || !token_rows.empty(); }
  explicit operator bool() const {
    return !weights.empty() || !trained.empty() || adapts_embeddings();
  }
};

/// "h.0.attn.c_attn.weight" -> "h.0.attn.c_attn".
std::string module_of(const std::string& weight);
/// Names of an adapter's own parameters.
std::string low_rank_a(const std::string& module);
std::string low_rank_b(const std::string& module);
/// Name of the parameter of trained rows.
std::string token_rows_of(const std::string& module);

}  // namespace trainx::graph
