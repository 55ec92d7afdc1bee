// Blobs and manifests: what is shared, what is removed, and what is said of damage.
#include "store/store_test.h"

#include <thread>

namespace sinter::store {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using StoreFiles = StoreTest;

TEST_F(StoreFiles, AModelIsFoundAsItWasPut) {
  const Manifest put = stored("a:1", "weights", {{Role::System, "be brief"}});
  const auto found = store_->find(nameOf("a:1"));
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->layers, put.layers);
  EXPECT_EQ(found->source, "a test");
  EXPECT_EQ(readAll(*store_->modelPath(*found)), "weights");
  EXPECT_EQ(store_->readText(found->name, *found->find(Role::System)).value_or(""), "be brief");
}

TEST_F(StoreFiles, AnEmptyStoreHasNoModels) {
  EXPECT_THAT(names(), IsEmpty());
  EXPECT_EQ(store_->find(nameOf("a")).error().code, Code::NotFound);
  EXPECT_EQ(store_->remove(nameOf("a")).error().code, Code::NotFound);
}

TEST_F(StoreFiles, ABlobStaysWhileAnyManifestNamesIt) {
  const Layer shared = stored("a", "weights").layers[0];
  stored("b", "weights");
  EXPECT_THAT(names(), ElementsAre("a:latest", "b:latest"));
  EXPECT_EQ(store_->remove(nameOf("a")).value_or(1), 0u);
  EXPECT_TRUE(store_->blobBytes(shared.digest));
  EXPECT_EQ(store_->remove(nameOf("b")).value_or(0), 7u);
  EXPECT_FALSE(store_->blobBytes(shared.digest));
}

TEST_F(StoreFiles, WhatAModelLosesWhenItIsReplacedIsRemoved) {
  const Layer former = stored("a", "former weights").layers[0];
  stored("a", "weights");
  EXPECT_FALSE(store_->blobBytes(former.digest));
}

TEST_F(StoreFiles, WhatNobodyCameBackForGoesAfterAWeek) {
  const Layer named = stored("a", "weights").layers[0];
  const Layer forgotten = *store_->addBytes(Role::Model, "forgotten");
  const Layer fresh = *store_->addBytes(Role::Model, "fresh");
  const std::string partial = write("models/blobs/partial-00", "x");
  const auto longAgo = std::filesystem::file_time_type::clock::now() - std::chrono::hours(24 * 8);
  for (const std::string &path :
       {store_->blobPath(named.digest), store_->blobPath(forgotten.digest), partial})
    std::filesystem::last_write_time(path, longAgo);
  stored("b", "others");
  EXPECT_TRUE(store_->blobBytes(named.digest));
  EXPECT_TRUE(store_->blobBytes(fresh.digest));
  EXPECT_FALSE(store_->blobBytes(forgotten.digest));
  EXPECT_FALSE(std::filesystem::exists(partial));
}

TEST_F(StoreFiles, AManifestNeedsItsBlobs) {
  Manifest manifest = stored("a", "weights");
  manifest.name = nameOf("b");
  manifest.layers.push_back({Role::System, digestOf("absent"), 6});
  const auto put = store_->put(manifest);
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().code, Code::NotFound);
  EXPECT_THAT(put.error().message, HasSubstr("is missing"));
  EXPECT_THAT(names(), ElementsAre("a:latest"));
}

TEST_F(StoreFiles, DamageNamesTheModelAndTheWayOut) {
  const Manifest cut = stored("cut:1", "weights");
  std::filesystem::resize_file(store_->blobPath(cut.layers[0].digest), 3);
  EXPECT_THAT(store_->modelPath(cut).error().message,
              AllOf(HasSubstr("'cut:1' is damaged"), HasSubstr("has 3 bytes, expected 7"),
                    HasSubstr("`sinter pull cut:1`")));
  const Manifest lost = stored("lost:1", "others");
  std::filesystem::remove(store_->blobPath(lost.layers[0].digest));
  EXPECT_THAT(store_->modelPath(lost).error().message, HasSubstr("is missing"));
}

TEST_F(StoreFiles, ADamagedManifestIsSaidAndCanBeRemoved) {
  const Layer layer = stored("a", "weights").layers[0];
  for (const char *text :
       {"", "{", "[]", "{\"version\":2}", "{\"version\":1,\"name\":\"a\",\"layers\":[]}",
        "{\"version\":1,\"name\":\"../a\",\"layers\":[]}",
        "{\"version\":1,\"name\":\"a\",\"layers\":[{\"role\":\"model\",\"digest\":\"sha256:00\"}]}",
        "{\"version\":1,\"name\":\"a\",\"layers\":[7]}"}) {
    write("models/manifests/a=latest.json", text);
    const auto found = store_->find(nameOf("a"));
    ASSERT_FALSE(found) << text;
    EXPECT_THAT(found.error().message,
                AllOf(HasSubstr("'a:latest' is damaged"), HasSubstr("sinter rm")))
        << text;
  }
  EXPECT_THAT(names(), IsEmpty());
  EXPECT_TRUE(store_->remove(nameOf("a")));
  EXPECT_TRUE(store_->blobBytes(layer.digest)); // nobody knows whose it was
}

TEST_F(StoreFiles, AManifestUnderAnothersNameIsDamage) {
  stored("a", "weights");
  std::filesystem::rename(folder_ + "/models/manifests/a=latest.json",
                          folder_ + "/models/manifests/b=latest.json");
  EXPECT_THAT(store_->find(nameOf("b")).error().message, HasSubstr("is named 'a:latest'"));
}

TEST_F(StoreFiles, AFileBecomesABlobByLinkOrCopy) {
  const std::string path = write("file", "weights");
  const auto copied = store_->addFile(Role::Model, path, false, nullptr, nullptr);
  ASSERT_TRUE(copied) << copied.error().message;
  EXPECT_EQ(std::filesystem::hard_link_count(path), 1u);
  EXPECT_EQ(readAll(store_->blobPath(copied->digest)), "weights");
  std::filesystem::remove(store_->blobPath(copied->digest));
  const auto linked = store_->addFile(Role::Model, path, true, nullptr, nullptr);
  ASSERT_TRUE(linked) << linked.error().message;
  EXPECT_EQ(*linked, *copied);
  EXPECT_EQ(std::filesystem::hard_link_count(path), 2u);
}

TEST_F(StoreFiles, PartsLieBesideOneAnother) {
  Manifest manifest{nameOf("hf.co/a/b:Q8_0"), "a test", {}};
  for (const char *file : {"m-00001-of-00002.gguf", "m-00002-of-00002.gguf"}) {
    manifest.layers.push_back(*store_->addBytes(Role::Model, file));
    manifest.layers.back().file = file;
  }
  ASSERT_TRUE(store_->put(manifest));
  const auto path = store_->modelPath(manifest);
  ASSERT_TRUE(path) << path.error().message;
  EXPECT_EQ(readAll(*path), "m-00001-of-00002.gguf");
  const std::string other =
      std::filesystem::path(*path).parent_path().string() + "/m-00002-of-00002.gguf";
  EXPECT_EQ(readAll(other), "m-00002-of-00002.gguf");
  EXPECT_GT(store_->remove(manifest.name).value_or(0), 0u);
  EXPECT_FALSE(std::filesystem::exists(*path));
}

TEST_F(StoreFiles, ManyThreadsChangeAndReadModelsAtOnce) {
  stored("keeper", "weights", {{Role::System, "shared"}});
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      const std::string own = "own" + std::to_string(thread);
      for (int round = 0; round < 8; ++round) {
        stored(own, "weights of " + own, {{Role::System, "shared"}});
        const auto found = store_->find(nameOf(own));
        wrong += !found || !store_->modelPath(*found);
        wrong += !store_->remove(nameOf(own));
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_THAT(names(), ElementsAre("keeper:latest"));
}

} // namespace
} // namespace sinter::store
