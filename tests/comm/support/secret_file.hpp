// A file with a secret, which goes with its object.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "base/file.hpp"

namespace weft::test {

class SecretFile {
 public:
  explicit SecretFile(std::string_view content) {
    const File file(::mkstemp(path_.data()));
    EXPECT_EQ(::write(file.get(), content.data(), content.size()),
              static_cast<ssize_t>(content.size()));
  }
  SecretFile(const SecretFile&) = delete;
  SecretFile& operator=(const SecretFile&) = delete;
  ~SecretFile() { ::unlink(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_ = testing::TempDir() + "weft-secret-XXXXXX";  // mkstemp: mode 0600
};

}  // namespace weft::test
