// A store in a folder of its own.
#pragma once

#include "store/store.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace sinter::store {

class StoreTest : public testing::Test {
protected:
  StoreTest() {
    std::string name = (std::filesystem::temp_directory_path() / "sinter-store-XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    store_.emplace(folder_ + "/models");
  }
  ~StoreTest() override { std::filesystem::remove_all(folder_); }

  static ModelName nameOf(const std::string &text) {
    const auto name = ModelName::parse(text);
    EXPECT_TRUE(name) << name.error().message;
    return name.value_or(ModelName());
  }
  static Sha256Digest digestOf(std::string_view bytes) {
    return *sha256({{reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()}});
  }
  std::string write(const std::string &file, std::string_view bytes) const {
    std::ofstream(folder_ + "/" + file, std::ios::binary).write(bytes.data(), std::ssize(bytes));
    return folder_ + "/" + file;
  }
  static std::string readAll(const std::string &path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  // A model of one file and the texts of roles.
  Manifest stored(const std::string &name, const std::string &bytes,
                  const std::vector<std::pair<Role, std::string>> &texts = {}) const {
    Manifest manifest{nameOf(name), "a test", {*store_->addBytes(Role::Model, bytes)}};
    for (const auto &[role, text] : texts)
      manifest.layers.push_back(*store_->addBytes(role, text));
    const auto put = store_->put(manifest);
    EXPECT_TRUE(put) << put.error().message;
    return manifest;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const Manifest &manifest : store_->list())
      found.push_back(manifest.name.text());
    return found;
  }

  std::string folder_;
  std::optional<Store> store_;
  std::atomic<bool> never_ = false;
};

} // namespace sinter::store
