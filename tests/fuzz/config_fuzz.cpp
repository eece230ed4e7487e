#include "fuzz/expect.hpp"
#include "fuzz/targets.hpp"
#include "architectures/architecture.hpp"
#include <optional>

namespace trainx::fuzz {

void fuzz_config(Bytes bytes, const Ways&) {
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::optional<architectures::ModelDims> dims;
  if (!accepted([&] { dims = architectures::dims_from_config(text, "model/config.json"); })) return;
  const std::string written = architectures::config_text(*dims, DType::f32);
  // Not inside accepted(): what trainx writes it must read.
  const architectures::ModelDims again =
      architectures::dims_from_config(written, "model/config.json");
  require(architectures::config_text(again, DType::f32) == written,
          "a config.json that trainx writes reads back as the same dimensions");
}

}  // namespace trainx::fuzz
