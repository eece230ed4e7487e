// A module's nodes as calls of LibTorch's dispatcher, under autograd like a user's own code.
#pragma once
#include "exported/graph.hpp"
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <optional>

namespace trainx::exported {

/// Values of one call, by number; a value is dropped after its last reader.
using Values = std::vector<c10::IValue>;

/// An argument that is ready: a constant, a value, or a list of these.
struct Slot {
  enum class List : std::uint8_t { none, integers, reals, booleans, tensors, optional_tensors };
  c10::IValue constant;
  std::int64_t value = -1;
  List list = List::none;
  std::vector<Slot> items = {};
  bool wraps_number = false;  // a number where a tensor is wanted
};

class Interpreter {
 public:
  /// Looks up every operator and holds its arguments against its schema. UserError 65 for one that
  /// is not allowed, does not exist, or has other arguments; `path` is for the sentence.
  Interpreter(const ModuleGraph& module, std::vector<at::Tensor> constants,
              const std::string& path);

  /// `operands`: inputs, then parameters. Throws c10::Error as operators do.
  std::vector<at::Tensor> run(const std::vector<at::Tensor>& operands, bool training) const;

 private:
  struct Call {
    // operator of ATen; none: a number made of numbers
    std::optional<c10::OperatorHandle> op;
    std::string scalar;
    std::vector<Slot> slots;
    std::vector<std::int64_t> outputs, frees;
    bool returns_list = false;
    std::int64_t drawing = -1;  // slot that decides whether it draws
    c10::IValue in_evaluation;
  };
  class Preparation;

  std::vector<at::ScalarType> operand_types_;
  std::vector<at::Tensor> constants_;
  std::vector<Call> calls_;
  std::vector<std::int64_t> results_;
  std::size_t values_ = 0;
};

/// The element type of trainx's word for it; nothing for another word.
std::optional<at::ScalarType> type_named(const std::string& word);

}  // namespace trainx::exported
