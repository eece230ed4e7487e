#include "facts/nvml_pci.hpp"
#include <algorithm>
#include <cctype>
#include <cstring>

namespace trainx::facts {

std::string kernel_address(const NvmlPciInfo& pci) {
  std::string address(pci.address, ::strnlen(pci.address, sizeof pci.address));
  if (address.size() > 12) address = address.substr(address.size() - 12);
  std::ranges::transform(address, address.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return address;
}

}  // namespace trainx::facts
