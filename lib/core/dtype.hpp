#pragma once
#include <cstdint>
#include <string_view>

namespace trainx {

enum class DType : std::uint8_t { f64, f32, f16, bf16, i64, i32, i16, u16, u8 };

constexpr std::int64_t size_of(DType t) {  // bytes of one element
  switch (t) {
    case DType::f64:
    case DType::i64: return 8;
    case DType::f32:
    case DType::i32: return 4;
    case DType::f16:
    case DType::bf16:
    case DType::i16:
    case DType::u16: return 2;
    case DType::u8: return 1;
  }
  return 0;
}

constexpr std::string_view name_of(DType t) {
  switch (t) {
    case DType::f64: return "f64";
    case DType::f32: return "f32";
    case DType::f16: return "f16";
    case DType::bf16: return "bf16";
    case DType::i64: return "i64";
    case DType::i32: return "i32";
    case DType::i16: return "i16";
    case DType::u16: return "u16";
    case DType::u8: return "u8";
  }
  return "?";
}

}  // namespace trainx
