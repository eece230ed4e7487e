// Which modules get an adapter, by PEFT's rules.
#pragma once
#include "adapter/config.hpp"
#include "adapter/module.hpp"
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace trainx::adapter {

/// y = W x + scale * B A dropout(x), A [rank, in], B [out, rank].
struct LowRank {
  std::int64_t rank = 0;
  double scale = 0.0;
  double dropout = 0.0;
};

struct Target {
  std::size_t module = 0;  // index into the modules
  LowRank low_rank;
};

/// Rows of an embedding or a head that are trained instead of its weight's.
struct TokenRows {
  std::size_t module = 0;            // index into the modules
  std::vector<std::int64_t> tokens;  // in the file's order, none twice
};

struct Chosen {
  std::vector<Target> adapted;  // in the modules' order
  /// modules_to_save: trained whole, in the modules' order. With ensure_weight_tying also those
  /// that share the input embedding's trained copy.
  std::vector<std::size_t> saved_whole;
  /// Of saved_whole, those whose trained copy is the input embedding's.
  std::vector<std::size_t> shares_saved_embedding;
  /// The settings as PEFT has them when targets were chosen, and saves them.
  Config written;
  /// Sentences for the user: what PEFT warns about (patterns and exclusions that match nothing).
  std::vector<std::string> warnings;
  std::vector<TokenRows> token_rows;  // in the modules' order
  bool tied_head_has_rows = false;    // a tied head has the rows of the embedding
};

/// What becomes of a target, or an entry of modules_to_save, that matches nothing: of settings that
/// a person writes it is a typing error; PEFT loads a finished adapter all the same if some match.
enum class Unmatched { refused, warned_of };

/// What PEFT adapts in a model of these modules, which are all of its linear layers, embeddings,
/// experts and routers; modules that contain others need not be listed. `model_type` is
/// config.json's. Throws UserError 78, naming near modules, for a target that matches nothing, or
/// that matches a module that cannot have an adapter, and for an expression that is not Python's or
/// that trainx would read differently.
Chosen choose_targets(const Config& config, std::span<const Module> modules,
                      std::string_view model_type, Unmatched unmatched = Unmatched::refused);

}  // namespace trainx::adapter
