#include "tokenizer/unicode/code_point_set.hpp"
#include <map>
#include <memory>
#include <mutex>

namespace trainx::tokenizer {

const CodePointSet& set_of(CodePointClass which) {
  static std::mutex making;
  static std::map<CodePointClass, std::unique_ptr<const CodePointSet>> made;
  const std::lock_guard lock(making);
  auto& set = made[which];
  if (!set) set = std::make_unique<const CodePointSet>(which);
  return *set;
}

}  // namespace trainx::tokenizer
