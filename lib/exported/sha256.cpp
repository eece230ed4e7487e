#include "exported/sha256.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/mapped_region.hpp"
#include <openssl/evp.h>
#include <array>
#include <memory>

namespace trainx::exported {

std::string sha256_of_file(const std::string& path) {
  const MappedRegion file(open_regular_file(path), path);
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        &EVP_MD_CTX_free);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  if (!context || EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) != 1 ||
      EVP_DigestUpdate(context.get(), file.bytes().data(), file.bytes().size()) != 1 ||
      EVP_DigestFinal_ex(context.get(), digest.data(), &size) != 1)
    throw InternalError("libcrypto computes no SHA-256");
  std::string text;
  for (unsigned int k = 0; k < size; ++k) {
    text += "0123456789abcdef"[digest[k] >> 4];
    text += "0123456789abcdef"[digest[k] & 15];
  }
  return text;
}

}  // namespace trainx::exported
