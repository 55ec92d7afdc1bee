// Downloads from a server that misbehaves: what comes is whole and right, or an error says why.
#include "store/download.h"

#include "store/loopback_server.h"
#include "store/store_test.h"

#include <numeric>
#include <set>

namespace sinter::store {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class DownloadTest : public StoreTest {
protected:
  DownloadTest() : file_(1000, '\0') {
    std::iota(file_.begin(), file_.end(), '\0');
    options_.segmentBytes = 100;
    options_.firstPause = std::chrono::milliseconds(1);
    options_.attempts = 3;
    options_.connections = 3;
  }
  // "" where it is there and right.
  std::string fetch(Handler handler) {
    server_.emplace(std::move(handler));
    return fetchAgain();
  }
  std::string fetchAgain() {
    DownloadSource source{server_->url("/blob?secret"), "", digestOf(file_), file_.size()};
    source.bearer = bearer_;
    DownloadProgress progress;
    progress.onBytes = [this](uint64_t done) { lastDone_ = done; };
    const auto done = downloadBlob(*store_, source, options_, progress, cancel_);
    if (!done)
      return done.error().message;
    return readAll(store_->blobPath(source.digest)) == file_ ? "" : "other bytes";
  }
  bool leftPartial() const { return std::filesystem::exists(store_->partialPath(digestOf(file_))); }
  // How many bytes the server was asked for in ranges.
  size_t askedBytes() const {
    size_t bytes = 0;
    for (const Request &request : server_->requests()) {
      const auto [begin, end] = request.range(file_.size());
      bytes += end - begin;
    }
    return bytes;
  }
  Handler good() {
    return [this](const Request &request) { return rangeAnswer(request, file_); };
  }

  // Whether nobody asked for that range before.
  bool isNew(const Request &request) {
    const std::lock_guard lock(mutex_);
    return seen_.insert(request.header("range")).second;
  }

  std::string file_, bearer_;
  std::mutex mutex_;
  std::set<std::string> seen_;
  DownloadOptions options_;
  std::optional<LoopbackServer> server_;
  std::atomic<bool> cancel_ = false;
  uint64_t lastDone_ = 0;
};

TEST_F(DownloadTest, RangesSideBySideMakeTheFile) {
  EXPECT_EQ(fetch(good()), "");
  EXPECT_EQ(server_->requests().size(), 10u);
  EXPECT_EQ(lastDone_, file_.size());
  EXPECT_FALSE(leftPartial());
  EXPECT_EQ(fetchAgain(), "");
  EXPECT_EQ(server_->requests().size(), 10u) << "a blob that is there is not fetched";
}

TEST_F(DownloadTest, AServerWithoutRangesGivesTheWholeFileOnce) {
  EXPECT_EQ(fetch([&](const Request &) { return answer(200, file_); }), "");
  EXPECT_EQ(server_->requests().size(), 1u);
}

TEST_F(DownloadTest, AnEmptyBodyOfOneSegmentIsAskedForWithoutARange) {
  options_.segmentBytes = 1000;
  EXPECT_EQ(fetch(good()), "");
  EXPECT_EQ(server_->requests().at(0).header("range"), "");
}

TEST_F(DownloadTest, BodiesThatEndEarlyAreContinued) {
  EXPECT_EQ(fetch([&](const Request &request) {
              const std::string all = rangeAnswer(request, file_);
              return isNew(request) && request.range(1000).first % 100 == 0
                         ? all.substr(0, all.size() - 30)
                         : all;
            }),
            "");
  EXPECT_LT(askedBytes(), 2 * file_.size());
}

TEST_F(DownloadTest, AWholeFileThatEndsEarlyBeginsAnew) {
  EXPECT_EQ(fetch([&](const Request &request) {
              const std::string all = answer(200, file_);
              return request.number ? all : all.substr(0, all.size() - 750);
            }),
            "");
}

TEST_F(DownloadTest, ErrorsOfTheServerAreTriedAgain) {
  EXPECT_EQ(fetch([&](const Request &request) {
              return isNew(request) ? answer(503, "busy") : rangeAnswer(request, file_);
            }),
            "");
}

TEST_F(DownloadTest, AServerThatStaysBrokenIsGivenUpAndWhatCameIsKept) {
  options_.connections = 1;
  const std::string why = fetch([&](const Request &request) {
    return request.number < 4 ? rangeAnswer(request, file_) : answer(500, "out of order\nmore");
  });
  EXPECT_THAT(why, AllOf(HasSubstr("status 500 (out of order)"), HasSubstr("after 3 attempts"),
                         HasSubstr("127.0.0.1"), Not(HasSubstr("secret"))));
  EXPECT_TRUE(leftPartial());
  EXPECT_GT(partialBytes(*store_, digestOf(file_)), 0u);
  EXPECT_EQ(fetch(good()), "");
  EXPECT_EQ(askedBytes(), 600u) << "four segments were there";
}

TEST_F(DownloadTest, ErrorsThatStayAreNotTriedAgain) {
  for (const int status : {400, 401, 403, 404, 410, 416}) {
    EXPECT_THAT(fetch([&](const Request &) { return answer(status, "<html>"); }),
                HasSubstr("answered status " + std::to_string(status)));
    EXPECT_EQ(server_->requests().size(), 1u) << status;
  }
}

TEST_F(DownloadTest, OtherBytesThanTheDigestSaysAreDeleted) {
  std::string other = file_;
  other[500] ^= 1;
  EXPECT_THAT(
      fetch([&](const Request &request) { return rangeAnswer(request, other); }),
      AllOf(HasSubstr("expected " + digestText(digestOf(file_))), HasSubstr("were deleted")));
  EXPECT_FALSE(leftPartial());
  EXPECT_FALSE(store_->blobBytes(digestOf(file_)));
}

TEST_F(DownloadTest, AWrongContentRangeIsRefused) {
  for (const char *range : {"bytes 5-104/1000", "bytes 0-999/1000", "bytes 0-99/5000",
                            "bytes */1000", "bytes 99-0/1000", "octets 0-99/1000", "bytes a-b/c",
                            "bytes 0-18446744073709551615/1000"}) {
    const std::string why = fetch([&](const Request &) {
      return answer(206, file_.substr(0, 100), std::string("Content-Range: ") + range + "\r\n");
    });
    EXPECT_THAT(why, HasSubstr("expected")) << range;
    EXPECT_FALSE(store_->blobBytes(digestOf(file_)));
  }
}

TEST_F(DownloadTest, AFileOfAnotherSizeIsRefused) {
  EXPECT_THAT(fetch([&](const Request &) { return answer(200, file_ + "more"); }),
              HasSubstr("gives 1004 bytes, expected 1000"));
  EXPECT_THAT(fetch([&](const Request &) {
                return "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + file_ + "more";
              }),
              HasSubstr("more bytes than"));
}

TEST_F(DownloadTest, MoreBytesThanTheRangeHasAreRefused) {
  EXPECT_THAT(fetch([&](const Request &request) {
                const auto [begin, end] = request.range(file_.size());
                return "HTTP/1.1 206 OK\r\nConnection: close\r\nContent-Range: bytes " +
                       std::to_string(begin) + "-" + std::to_string(end - 1) + "/1000\r\n\r\n" +
                       file_;
              }),
              HasSubstr("more bytes than"));
}

TEST_F(DownloadTest, RedirectsAreFollowedAndTheTokenStaysAtHome) {
  bearer_ = "letmein";
  LoopbackServer other(good());
  EXPECT_EQ(fetch([&](const Request &request) {
              EXPECT_EQ(request.header("authorization"), "bearer letmein");
              return answer(307, "", "Location: " + other.url("/there") + "\r\n");
            }),
            "");
  for (const Request &request : other.requests())
    EXPECT_EQ(request.header("authorization"), "");
  EXPECT_EQ(other.requests().size(), 10u);
}

TEST_F(DownloadTest, ARelativeRedirectStaysAtItsHost) {
  bearer_ = "letmein";
  EXPECT_EQ(fetch([&](const Request &request) {
              EXPECT_EQ(request.header("authorization"), "bearer letmein");
              return request.path == "/there" ? rangeAnswer(request, file_)
                                              : answer(302, "", "Location: /there\r\n");
            }),
            "");
}

TEST_F(DownloadTest, CirclesOfRedirectsEnd) {
  EXPECT_THAT(fetch([](const Request &) { return answer(302, "", "Location: /blob\r\n"); }),
              HasSubstr("more than 5 times"));
  EXPECT_EQ(server_->requests().size(), 6u);
}

TEST_F(DownloadTest, RedirectsLeadToHttpAlone) {
  for (const char *target : {"file:///etc/passwd", "ftp://127.0.0.1/x", "gopher://127.0.0.1/"})
    EXPECT_THAT(fetch([&](const Request &) {
                  return answer(302, "", std::string("Location: ") + target + "\r\n");
                }),
                HasSubstr("no address of http"))
        << target;
}

TEST_F(DownloadTest, AServerThatDripsIsGivenUp) {
  options_.attempts = 1;
  options_.http.slowest = std::chrono::seconds(1);
  std::atomic<bool> isOver = false;
  const std::string why = fetch([&](const Request &) {
    // Says nothing for longer than may be.
    for (int i = 0; i < 500 && !isOver; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return std::string();
  });
  isOver = true;
  EXPECT_THAT(why, HasSubstr("Timeout"));
}

TEST_F(DownloadTest, WhatIsInterruptedGoesOnLater) {
  options_.connections = 1;
  EXPECT_THAT(fetch([&](const Request &request) {
                if (request.number == 5)
                  cancel_ = true;
                return rangeAnswer(request, file_);
              }),
              HasSubstr("interrupted"));
  EXPECT_TRUE(leftPartial());
  cancel_ = false;
  EXPECT_EQ(fetch(good()), "");
  EXPECT_LE(askedBytes(), 500u);
}

TEST_F(DownloadTest, ADamagedJournalIsBegunAnew) {
  for (const std::string journal :
       {"", "partial-1", "partial-1 1000 100 900 0 0 0 0 0 0 0 0 0", "partial-1 999 100",
        "partial-1 1000 100 -1", "other 1000 100"}) {
    ASSERT_TRUE(store_->prepare());
    const std::string partial = store_->partialPath(digestOf(file_));
    std::ofstream(partial) << std::string(1000, 'x');
    std::ofstream(partial + ".journal") << journal;
    EXPECT_EQ(fetch(good()), "") << journal;
    EXPECT_EQ(askedBytes(), 1000u) << journal;
    std::filesystem::remove(store_->blobPath(digestOf(file_)));
  }
}

TEST_F(DownloadTest, RangesThatComeAndGoStillMakeTheFile) {
  options_.attempts = 6;
  options_.connections = 1;
  EXPECT_EQ(fetch([&](const Request &request) {
              const std::string whole = answer(200, file_);
              // The first two give ranges, the third the whole file, cut off, the others ranges.
              return request.number == 2 ? whole.substr(0, whole.size() - 950)
                                         : rangeAnswer(request, file_);
            }),
            "");
}

TEST_F(DownloadTest, OneOfTwoFetchesAndTheOtherWaits) {
  server_.emplace(good());
  std::string first, second;
  std::thread other([&] { first = fetchAgain(); });
  second = fetchAgain();
  other.join();
  EXPECT_EQ(first + second, "");
  EXPECT_EQ(server_->requests().size(), 10u);
}

TEST_F(DownloadTest, TextsHaveALimit) {
  server_.emplace([](const Request &) { return answer(200, std::string(5000, 'x')); });
  const auto fetchUpTo = [&](size_t most) {
    return fetchText({server_->url("/text")}, "a text", most, options_, cancel_);
  };
  EXPECT_EQ(fetchUpTo(5000).value_or("").size(), 5000u);
  const auto refused = fetchUpTo(4999);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("more than 4999 bytes"));
}

TEST_F(DownloadTest, NobodyListensIsAnError) {
  server_.emplace(good());
  const std::string url = server_->url();
  server_.reset();
  const auto text = fetchText({url}, "a text", 10, options_, cancel_);
  ASSERT_FALSE(text);
  EXPECT_THAT(text.error().message, HasSubstr("cannot fetch '" + url + "'"));
}

TEST(ShownUrl, HasNoSecrets) {
  EXPECT_EQ(shownUrl("https://user:word@host/path?token=x#y"), "https://host/path");
  EXPECT_EQ(shownUrl("https://host/a@b"), "https://host/a@b");
}

} // namespace
} // namespace sinter::store
