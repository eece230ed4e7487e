// Catch2 v2 (Debian 12) and v3 (Ubuntu 24.04) behind one include. c10 has a CHECK too, which would
// end the process instead of failing the test: where LibTorch is seen, its header comes first.
#pragma once
#if __has_include(<c10/util/Logging.h>)
#include <c10/util/Logging.h>
#endif
#undef CHECK
#if __has_include("core/dtype.hpp")
#include "core/dtype.hpp"
#include <ostream>
namespace trainx {
// c10 prints pairs of whatever there is, and Catch2 v3 asks it to.
inline std::ostream& operator<<(std::ostream& out, DType type) { return out << name_of(type); }
}  // namespace trainx
#endif
#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_approx.hpp>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
#else
#include <catch2/catch.hpp>
#include <string>
inline auto ContainsSubstring(const std::string& text) { return Catch::Matchers::Contains(text); }
#endif
