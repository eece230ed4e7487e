#include "train/module_buffers.hpp"
#include "core/error.hpp"
#include "checkpoint/checkpoint.hpp"
#include "checkpoint/safetensors_dtype.hpp"
#include "model/custom/buffers.hpp"
#include "operations/module/module_device.hpp"
#include "tensor/torch_view.hpp"
#include <ATen/ops/from_blob.h>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace trainx::train {

namespace {

/// Those that there are, in memory of the host.
std::map<std::string, at::Tensor> on_host() {
  std::map<std::string, at::Tensor> copies;
  operations::between_steps_on_module_device("buffers of modules", [&] {
    for (const auto& [name, tensor] : model::changing_buffers())
      copies[name] = tensor.cpu().contiguous();
  });
  return copies;
}

/// From bytes of the host.
void fill(at::Tensor& tensor, const void* bytes) {
  const at::Tensor from = at::from_blob(const_cast<void*>(bytes), tensor.sizes(),
                                        at::TensorOptions().dtype(tensor.scalar_type()));
  operations::between_steps_on_module_device("buffers of modules", [&] { tensor.copy_(from); });
}

}  // namespace

std::string module_buffers_text() {
  if (model::changing_buffers().empty()) return {};
  nlohmann::ordered_json header{{"__metadata__", {{"format", "pt"}}}};
  std::string data;
  const auto buffers = on_host();
  // wider ones first, so that each is aligned
  for (const std::int64_t size : {8, 4, 2})
    for (const auto& [name, t] : buffers) {
      if (t.element_size() != size) continue;
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
    fill(tensor, found->second.data.data());
  }
}

void share_module_buffers(const execute::Ranks& ranks) {
  if (model::changing_buffers().empty() || ranks.world_size() == 1) return;
  std::string mine;
  for (const auto& [name, t] : on_host())
    mine.append(static_cast<const char*>(t.const_data_ptr()), t.nbytes());
  const std::string first = ranks.from_first(mine);
  if (first.size() != mine.size()) throw InternalError("ranks have buffers of other sizes");
  std::size_t at = 0;
  for (auto& [name, tensor] : model::changing_buffers()) {
    fill(tensor, first.data() + at);
    at += tensor.nbytes();
  }
}

}  // namespace trainx::train
