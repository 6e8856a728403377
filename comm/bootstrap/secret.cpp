#include "comm/bootstrap/secret.hpp"

#include <fcntl.h>
#include <sodium.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/env.hpp"
#include "base/error.hpp"
#include "base/random.hpp"

namespace weft::comm {

namespace {

static_assert(sizeof(Proof) == crypto_auth_hmacsha256_BYTES);

void expect_private(const std::string& name, const struct stat& status) {
  if (!S_ISREG(status.st_mode)) throw_usage("WEFT_SECRET_FILE={}: not a file", name);
  if (status.st_uid != ::geteuid()) {
    throw_usage("WEFT_SECRET_FILE={}: belongs to user {}, and this process runs as {}", name,
                status.st_uid, ::geteuid());
  }
  if ((status.st_mode & 077) != 0) {
    throw_usage(
        "WEFT_SECRET_FILE={}: mode {:04o}, so others may use it: chmod 600, and write it anew",
        name, status.st_mode & 07777);
  }
}

std::string read_all(const File& file, const std::string& name) {
  std::string bytes(Secret::kMostBytes + 1, '\0');
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got =
        ::pread(file.get(), bytes.data() + have, bytes.size() - have, static_cast<off_t>(have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_errno(fmt::format("read(WEFT_SECRET_FILE={})", name));
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  bytes.resize(have);
  return bytes;
}

}  // namespace

Secret Secret::from_settings() {
  Secret secret;
  secret.file_ = env::text("WEFT_SECRET_FILE").value_or("");
  if (secret.file_.empty() || secret.is_declined()) return secret;
  const File file(::open(secret.file_.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) {
    throw_usage("WEFT_SECRET_FILE={}: {}", secret.file_, SystemError("open", errno).what());
  }
  expect_private(secret.file_, status);
  secret.bytes_ = read_all(file, secret.file_);
  const std::size_t size = secret.bytes_.size();
  secret.bytes_.resize(secret.bytes_.find_last_not_of(" \t\r\n") + 1);
  if (size > kMostBytes || secret.bytes_.size() < kLeastBytes) {
    throw_usage("WEFT_SECRET_FILE={}: {} bytes, not from {} to {}", secret.file_,
                secret.bytes_.size(), kLeastBytes, kMostBytes);
  }
  return secret;
}

void Secret::clear() noexcept {
  bytes_.resize(bytes_.capacity());
  ::sodium_memzero(bytes_.data(), bytes_.size());
  bytes_.clear();
}

std::string Secret::describe() const {
  if (file_.empty()) return "WEFT_SECRET_FILE is not set";
  return "WEFT_SECRET_FILE=" + file_;
}

Proof Secret::prove(std::string_view text) const noexcept {
  const auto at = [](std::string_view bytes) {
    return reinterpret_cast<const unsigned char*>(bytes.data());
  };
  crypto_auth_hmacsha256_state state;
  ::crypto_auth_hmacsha256_init(&state, at(bytes_), bytes_.size());
  ::crypto_auth_hmacsha256_update(&state, at(text), text.size());
  Proof proof;
  ::crypto_auth_hmacsha256_final(&state, reinterpret_cast<unsigned char*>(proof.data()));
  ::sodium_memzero(&state, sizeof state);
  return proof;
}

bool Secret::accepts(std::string_view text, const Proof& proof) const noexcept {
  const Proof right = prove(text);
  return ::sodium_memcmp(right.data(), proof.data(), proof.size()) == 0;
}

File make_secret(std::string& setting) {
  File file(::memfd_create("weft-secret", MFD_ALLOW_SEALING));
  if (!file) throw_errno("memfd_create(weft-secret)");
  if (::fchmod(file.get(), 0600) != 0) throw_errno("fchmod(weft-secret)");
  std::array<std::byte, 32> bytes;
  fill_random(bytes);
  // Neither of them counts at the end of a file.
  std::ranges::replace_if(
      bytes, [](std::byte one) { return one <= std::byte{' '}; }, std::byte{0x80});
  const auto written = ::write(file.get(), bytes.data(), bytes.size());
  ::sodium_memzero(bytes.data(), bytes.size());
  if (written != static_cast<ssize_t>(bytes.size())) throw_errno("write(weft-secret)");
  if (::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) !=
      0) {
    throw_errno("fcntl(weft-secret, F_ADD_SEALS)");
  }
  setting = fmt::format("/proc/self/fd/{}", file.get());
  return file;
}

}  // namespace weft::comm
