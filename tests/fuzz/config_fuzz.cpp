#include "fuzz/expect.hpp"
#include "fuzz/targets.hpp"
#include "spec/arch/architecture.hpp"
#include <optional>

namespace trainx::fuzz {

void fuzz_config(Bytes bytes) {
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::optional<spec::ModelDims> dims;
  if (!accepted([&] { dims = spec::dims_from_config(text, "model/config.json"); })) return;
  const std::string written = spec::config_text(*dims, DType::f32);
  // Not inside accepted(): what trainx writes it must read.
  const spec::ModelDims again = spec::dims_from_config(written, "model/config.json");
  require(spec::config_text(again, DType::f32) == written,
          "a config.json that trainx writes reads back as the same dimensions");
}

}  // namespace trainx::fuzz
