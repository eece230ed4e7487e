#pragma once
#include <c10/util/ArrayRef.h>

#include <string>

namespace trainx::model::custom {

/// A tensor's sizes as messages show them: "[8, 128]".
std::string shape_of(at::IntArrayRef sizes);

}  // namespace trainx::model::custom
