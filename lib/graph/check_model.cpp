#include "graph/check_model.hpp"
#include "core/error.hpp"
#include "graph/model.hpp"
#include <string>

namespace trainx::graph {
namespace {

class ModelCheck {
 public:
  ModelCheck(const Model& model, std::string_view after)
      : model_(model), after_(after), known_(model.values.size()) {
    for (std::size_t v = 0; v < known_.size(); ++v) known_[v] = model.values[v].batch != none;
  }

  void run() {
    for (const Block& block : model_.blocks) {
      block_ = &block;
      for (const Node& op : block.ops) {
        op_ = &op;
        check_operands();
        check_results();
      }
    }
    op_ = nullptr;
    if (const ValueId v = model_.head.targets; v != none) require(is_known(v), "targets are lost");
    if (const ValueId v = model_.memory; v != none) require(is_known(v), "the memory is lost");
  }

 private:
  void check_operands() const {
    for (const ValueId v : op_->inputs)
      require(v == none || is_known(v), "reads a value that nothing before it made");
    for (const ValueId v : op_->gradient_of)
      require(v == none || is_known(v), "has a gradient of a value that nothing before it made");
    require(op_->gradient_of.empty() || op_->gradient_of.size() == op_->inputs.size(),
            "has gradients of other inputs than it reads");
    for (const ParameterId& p : op_->parameters)
      require(p.index == none || (p.index >= 0 && p.count > 0 &&
                                  p.index + p.count <= std::ssize(model_.parameters)),
              "reads a parameter that there is not");
  }

  void check_results() {
    const std::vector<operations::OutputSpec> specs =
        operations::outputs_of(op_->operation, model_.types_of(*op_));
    for (std::size_t k = 0; k < op_->outputs.size(); ++k) {
      const ValueId v = op_->outputs[k];
      if (v == none) continue;
      require(v >= 0 && v < std::ssize(known_), "makes a value that there is not");
      require(!known_[static_cast<std::size_t>(v)], "makes a value that there is already");
      known_[static_cast<std::size_t>(v)] = true;
      const bool made = k < specs.size() && specs[k].type.defined();
      require(!made || specs[k].type == model_.values[static_cast<std::size_t>(v)].type,
              "makes a value of another type than its own");
    }
  }

  bool is_known(ValueId v) const {
    return v >= 0 && v < std::ssize(known_) && known_[static_cast<std::size_t>(v)];
  }

  void require(bool holds, std::string_view what) const {
    if (holds) return;
    std::string place = "the model";
    if (op_) place = block_->name + ": " + std::string(operations::name_of(op_->operation));
    throw InternalError(place + " " + std::string(what) +
                        (after_.empty() ? "" : " after the graph pass " + std::string(after_)));
  }

  const Model& model_;
  const std::string_view after_;
  std::vector<char> known_;  // by value: it can be read
  const Block* block_ = nullptr;
  const Node* op_ = nullptr;
};

}  // namespace

void check_model(const Model& model, std::string_view after) { ModelCheck(model, after).run(); }

}  // namespace trainx::graph
