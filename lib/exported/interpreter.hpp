// A module's nodes as calls of LibTorch's dispatcher, under autograd like a user's own code.
#pragma once
#include "exported/graph.hpp"
#include "exported/placed_graph.hpp"
#include <memory>
#include <optional>

namespace trainx::exported {

class Interpreter {
 public:
  /// Looks up every operator and holds its arguments against its schema. UserError 65 for one that
  /// is not allowed, does not exist, or has other arguments; `path` is for the sentence.
  Interpreter(const ModuleGraph& module, std::vector<at::Tensor> constants,
              const std::string& path);

  /// What computes there, shared by all that ask while one of them keeps it. Between steps.
  std::shared_ptr<const PlacedGraph> on(const at::Device& device) const;

 private:
  PreparedGraph graph_;
  std::vector<at::Tensor> constants_;  // on the host
  mutable std::weak_ptr<const PlacedGraph> placed_;
};

/// The element type of trainx's word for it; nothing for another word.
std::optional<at::ScalarType> type_named(const std::string& word);

}  // namespace trainx::exported
