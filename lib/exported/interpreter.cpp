#include "exported/interpreter.hpp"
#include "core/error.hpp"
#include "exported/operators.hpp"
#include "exported/scalars.hpp"
#include <ATen/core/jit_type.h>
#include <algorithm>
#include <map>

namespace trainx::exported {

std::optional<at::ScalarType> type_named(const std::string& word) {
  static const std::map<std::string, at::ScalarType> types{
      {"f32", at::kFloat}, {"bf16", at::kBFloat16}, {"f16", at::kHalf},        {"f64", at::kDouble},
      {"i64", at::kLong},  {"i32", at::kInt},       {"i16", at::kShort},       {"i8", at::kChar},
      {"u8", at::kByte},   {"bool", at::kBool},     {"c64", at::kComplexFloat}};
  const auto found = types.find(word);
  return found == types.end() ? std::nullopt : std::optional(found->second);
}

namespace {

/// Holds the nodes of a module against the operators that there are.
class Preparation {
 public:
  enum class Kind : std::uint8_t { tensor, number, list };

  Preparation(const ModuleGraph& module, const std::string& path) : module_(module), path_(path) {
    kinds_.assign(static_cast<std::size_t>(module.values), Kind::tensor);
  }

  Call call(const Node& node) {
    node_ = &node;
    constexpr std::string_view scalars = "scalar::";
    if (node.op.starts_with(scalars)) return number(node.op.substr(scalars.size()));
    if (!is_allowed(node.op)) fail("is no operator that trainx computes for an export");
    Call call;
    call.op = c10::Dispatcher::singleton().findSchema({node.op, node.overload});
    if (!call.op) fail("does not exist in this LibTorch");
    const c10::FunctionSchema& schema = call.op->schema();
    if (schema.is_mutable()) fail("changes its input");
    arguments(schema, call);
    returns(schema, call);
    if (const Drawing drawing = drawing_of(node.op); !drawing.argument.empty()) {
      call.drawing = schema.argumentIndexWithName(drawing.argument).value();
      call.in_evaluation = drawing.is_probability ? c10::IValue(0.0) : c10::IValue(false);
    }
    find_device(schema, call);
    return call;
  }

  void require_tensors(const std::vector<std::int64_t>& values) const {
    for (const std::int64_t v : values)
      if (kind(v) != Kind::tensor)
        throw UserError(ExitCode::bad_data,
                        path_ + ": module '" + module_.name + "' has a result that is no tensor");
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw UserError(ExitCode::bad_data, path_ + ": module '" + module_.name + "': " + node_->op +
                                            (node_->overload.empty() ? "" : "." + node_->overload) +
                                            " " + what);
  }
  Kind kind(std::int64_t value) const { return kinds_[static_cast<std::size_t>(value)]; }

  Call number(const std::string& name) {
    Call call;
    call.scalar = name;
    if (!is_scalar_function(name, node_->arguments.size()) || !node_->named.empty() ||
        node_->outputs.size() != 1)
      fail("is no function of numbers that trainx computes");
    for (const Argument& a : node_->arguments) {
      Slot& slot = call.slots.emplace_back();
      if (!takes_number(a, slot)) fail("takes something that is no number");
    }
    kinds_[static_cast<std::size_t>(node_->outputs[0])] = Kind::number;
    call.outputs = node_->outputs;
    return call;
  }

  bool takes_number(const Argument& a, Slot& slot) const {
    using K = Argument::Kind;
    if (a.kind == K::value) return slot.value = a.integer, kind(a.integer) == Kind::number;
    if (a.kind == K::integer) return slot.constant = a.integer, true;
    if (a.kind == K::real) return slot.constant = a.real, true;
    if (a.kind == K::boolean) return slot.constant = a.boolean, true;
    return false;
  }

  void arguments(const c10::FunctionSchema& schema, Call& call) {
    if (node_->arguments.size() > schema.arguments().size()) fail("has too many arguments");
    std::size_t used = 0;
    for (std::size_t k = 0; k < schema.arguments().size(); ++k) {
      const c10::Argument& formal = schema.arguments()[k];
      const auto named = node_->named.find(formal.name());
      used += named != node_->named.end() ? 1 : 0;
      Slot& slot = call.slots.emplace_back();
      if (k < node_->arguments.size()) {
        fill(slot, node_->arguments[k], formal, *formal.type());
      } else if (named != node_->named.end()) {
        fill(slot, named->second, formal, *formal.type());
      } else if (formal.default_value()) {
        slot.constant = *formal.default_value();
      } else {
        fail("lacks its argument '" + formal.name() + "'");
      }
    }
    if (used != node_->named.size()) fail("has an argument that it does not take");
  }

  void fill(Slot& slot, const Argument& a, const c10::Argument& formal, const c10::Type& type) {
    if (!fits(slot, a, formal, type)) fail("takes no such '" + formal.name() + "'");
  }

  bool fits(Slot& slot, const Argument& a, const c10::Argument& formal, const c10::Type& type) {
    using K = Argument::Kind;
    if (const auto* optional = type.castRaw<c10::OptionalType>()) {
      if (a.kind == K::none) return true;
      return fits(slot, a, formal, *optional->getElementType());
    }
    switch (type.kind()) {
      case c10::TypeKind::TensorType:
        if (a.kind == K::value && kind(a.integer) == Kind::tensor)
          return slot.value = a.integer, true;
        if (!takes_number(a, slot)) return false;
        return slot.wraps_number = true;
      case c10::TypeKind::ListType:
        return fits_list(slot, a, formal, *type.castRaw<c10::ListType>()->getElementType());
      case c10::TypeKind::NumberType: return takes_number(a, slot);
      case c10::TypeKind::FloatType:
        if (a.kind == K::integer) return slot.constant = static_cast<double>(a.integer), true;
        return a.kind != K::boolean && takes_number(a, slot);
      case c10::TypeKind::BoolType: return a.kind == K::boolean && takes_number(a, slot);
      case c10::TypeKind::StringType: return a.kind == K::text && (slot.constant = a.text, true);
      case c10::TypeKind::IntType:
      case c10::TypeKind::SymIntType: return fits_integer(slot, a);
      default: return a.kind == K::none;  // a device is the run's, a layout the operator's
    }
  }

  bool fits_integer(Slot& slot, const Argument& a) const {
    using K = Argument::Kind;
    if (a.kind == K::dtype) {
      const auto type = type_named(a.text);
      if (type) slot.constant = static_cast<std::int64_t>(*type);
      return type.has_value();
    }
    if (a.kind == K::layout) {
      static const std::map<std::string, at::MemoryFormat> formats{
          {"contiguous_format", at::MemoryFormat::Contiguous},
          {"preserve_format", at::MemoryFormat::Preserve},
          {"channels_last", at::MemoryFormat::ChannelsLast}};
      const auto format = formats.find(a.text);
      if (format != formats.end()) slot.constant = static_cast<std::int64_t>(format->second);
      return format != formats.end();
    }
    return (a.kind == K::integer || a.kind == K::value) && takes_number(a, slot);
  }

  bool fits_list(Slot& slot, const Argument& a, const c10::Argument& formal,
                 const c10::Type& element) {
    using K = Argument::Kind;
    using List = Slot::List;
    const bool optional = element.kind() == c10::TypeKind::OptionalType;
    switch (optional ? element.castRaw<c10::OptionalType>()->getElementType()->kind()
                     : element.kind()) {
      case c10::TypeKind::IntType:
      case c10::TypeKind::SymIntType: slot.list = List::integers; break;
      case c10::TypeKind::FloatType: slot.list = List::reals; break;
      case c10::TypeKind::BoolType: slot.list = List::booleans; break;
      case c10::TypeKind::TensorType:
        slot.list = optional ? List::optional_tensors : List::tensors;
        break;
      default: return false;
    }
    if (a.kind == K::value && kind(a.integer) == Kind::list && slot.list == List::tensors)
      return slot.value = a.integer, slot.list = List::none, true;
    if (a.kind != K::list) {  // int[2] takes a number for both
      const auto times = static_cast<std::size_t>(formal.N().value_or(0));
      if (times == 0 || slot.list != List::integers) return false;
      for (std::size_t k = 0; k < times; ++k)
        if (!fits(slot.items.emplace_back(), a, formal, element)) return false;
      return true;
    }
    for (const Argument& each : a.list)
      if (!fits(slot.items.emplace_back(), each, formal, element)) return false;
    return true;
  }

  void returns(const c10::FunctionSchema& schema, Call& call) {
    const auto& types = schema.returns();
    call.outputs = node_->outputs;
    call.returns_list = types.size() == 1 && types[0].type()->kind() == c10::TypeKind::ListType;
    if (!call.returns_list && types.size() != node_->outputs.size())
      fail("returns " + std::to_string(types.size()) + " values, not " +
           std::to_string(node_->outputs.size()));
    for (std::size_t k = 0; k < node_->outputs.size(); ++k) {
      const auto type = call.returns_list ? c10::TypeKind::TensorType : types[k].type()->kind();
      const bool is_number = type == c10::TypeKind::IntType || type == c10::TypeKind::SymIntType;
      if (!is_number && type != c10::TypeKind::TensorType) fail("returns what trainx cannot keep");
      kinds_[static_cast<std::size_t>(node_->outputs[k])] = is_number ? Kind::number : Kind::tensor;
    }
  }

  /// Operators that take tensors make others where these lie; the others are told.
  void find_device(const c10::FunctionSchema& schema, Call& call) const {
    const auto& formals = schema.arguments();
    const auto is_tensor = [](const c10::Argument& formal) {
      return formal.type()->isSubtypeOf(*c10::TensorType::get()) ||
             formal.type()->isSubtypeOf(*c10::ListType::ofTensors());
    };
    const bool follows = std::ranges::any_of(formals, is_tensor);
    for (std::size_t k = 0; k < formals.size(); ++k) {
      const c10::Type& type = *formals[k].type();
      const auto* optional = type.castRaw<c10::OptionalType>();
      const auto kind_of = (optional ? *optional->getElementType() : type).kind();
      if (kind_of == c10::TypeKind::DeviceObjType && !(optional && follows))
        call.device = static_cast<std::int64_t>(k);
    }
  }

 private:
  const ModuleGraph& module_;
  const std::string& path_;
  const Node* node_ = nullptr;
  std::vector<Kind> kinds_;
};

}  // namespace

Interpreter::Interpreter(const ModuleGraph& module, std::vector<at::Tensor> constants,
                         const std::string& path)
    : constants_(std::move(constants)) {
  graph_.results = module.results;
  graph_.values = static_cast<std::size_t>(module.values);
  for (const auto* operands : {&module.inputs, &module.parameters})
    for (const Operand& o : *operands) {
      const auto type = type_named(o.dtype);
      if (!type)
        throw UserError(ExitCode::bad_data, path + ": '" + o.name + "' is of no known type");
      graph_.operand_types.push_back(*type);
    }
  Preparation preparation(module, path);
  for (const Node& node : module.nodes) graph_.calls.push_back(preparation.call(node));
  preparation.require_tensors(graph_.results);
  find_frees(graph_);
}

std::shared_ptr<const PlacedGraph> Interpreter::on(const at::Device& device) const {
  auto placed = placed_.lock();
  if (placed && placed->device() == device) return placed;
  placed = std::make_shared<const PlacedGraph>(graph_, constants_, device);
  placed_ = placed;
  return placed;
}

}  // namespace trainx::exported
