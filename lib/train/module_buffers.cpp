#include "train/module_buffers.hpp"
#include "core/error.hpp"
#include "checkpoint/checkpoint.hpp"
#include "checkpoint/safetensors_dtype.hpp"
#include "model/custom/buffers.hpp"
#include "tensor/torch_view.hpp"
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace trainx::train {

std::string module_buffers_text() {
  if (model::changing_buffers().empty()) return {};
  nlohmann::ordered_json header{{"__metadata__", {{"format", "pt"}}}};
  std::string data;
  // wider ones first, so that each is aligned
  for (const std::int64_t size : {8, 4, 2})
    for (const auto& [name, tensor] : model::changing_buffers()) {
      if (tensor.element_size() != size) continue;
      const at::Tensor t = tensor.contiguous();
      const auto begin = data.size();
      data.append(static_cast<const char*>(t.const_data_ptr()), t.nbytes());
      header[name] = {{"dtype", checkpoint::safetensors_name(tensor::dtype(t.scalar_type()))},
                      {"shape", t.sizes().vec()},
                      {"data_offsets", {begin, data.size()}}};
    }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const std::uint64_t length = text.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + text + data;
}

void load_module_buffers(const std::string& folder) {
  if (model::changing_buffers().empty()) return;
  const std::string path = folder + "/" + module_buffers_file;
  std::error_code error;
  if (!std::filesystem::exists(path, error))
    throw UserError(ExitCode::bad_data, folder + " has no " + module_buffers_file +
                                            ", where buffers that modules change are saved");
  const checkpoint::SafetensorsReader reader(path);
  for (auto& [name, tensor] : model::changing_buffers()) {
    const auto found = reader.tensors().find(name);
    if (found == reader.tensors().end() || found->second.dims != tensor.sizes().vec() ||
        found->second.dtype != tensor::dtype(tensor.scalar_type()))
      throw UserError(ExitCode::bad_data, path + " has no tensor " + name +
                                              " of the shape and type of the model's buffer");
    std::memcpy(tensor.data_ptr(), found->second.data.data(), found->second.data.size());
  }
}

void share_module_buffers(const execute::Ranks& ranks) {
  if (model::changing_buffers().empty() || ranks.world_size() == 1) return;
  const auto each = [](auto use) {
    for (auto& [name, tensor] : model::changing_buffers()) use(tensor);
  };
  std::string mine;
  each([&](const at::Tensor& t) {
    mine.append(static_cast<const char*>(t.const_data_ptr()), t.nbytes());
  });
  const std::string first = ranks.from_first(mine);
  if (first.size() != mine.size()) throw InternalError("ranks have buffers of other sizes");
  std::size_t at = 0;
  each([&](const at::Tensor& t) {
    std::memcpy(t.data_ptr(), first.data() + at, t.nbytes());
    at += t.nbytes();
  });
}

}  // namespace trainx::train
