// Who may wait for a model, by a clock that the test moves.
#include "serve/worker/admission.h"

#include <gtest/gtest.h>

#include <deque>

namespace sinter::serve {
namespace {

using Seconds = std::chrono::duration<double>;

// A model that takes tokens at a steady rate, one request after the other.
class Desk {
public:
  explicit Desk(AdmissionOptions options = {}, double rate = 1000)
      : admission(options), rate_(rate) {
    admission.addStep(static_cast<uint64_t>(rate), 1); // what it did before
  }

  // False: it was refused.
  bool send(const std::string &queue = "", uint64_t tokens = 100) {
    if (!admission.ask(queue, now_)) {
      ++refused;
      return false;
    }
    waiting_.push_back({queue, tokens});
    admission.add(waiting_.back(), now_);
    return true;
  }
  uint32_t sendMany(uint32_t count, const std::string &queue = "") {
    uint32_t taken = 0;
    for (uint32_t i = 0; i < count; ++i)
      taken += send(queue);
    return taken;
  }
  // How many requests were done.
  uint32_t run(double seconds) {
    uint32_t done = 0;
    now_ += std::chrono::duration_cast<Admission::Clock::duration>(Seconds(seconds));
    admission.addStep(static_cast<uint64_t>(rate_ * seconds), seconds);
    for (left_ += rate_ * seconds; !waiting_.empty() && left_ >= waiting_.front().tokens; ++done) {
      left_ -= waiting_.front().tokens;
      admission.begin(waiting_.front());
      admission.end(waiting_.front(), true);
      waiting_.pop_front();
    }
    if (waiting_.empty())
      left_ = 0;
    return done;
  }
  // Time in which nothing is done.
  void pause(double seconds) {
    now_ += std::chrono::duration_cast<Admission::Clock::duration>(Seconds(seconds));
  }
  // A part of `share` of the requests that the model can take; how many were taken.
  uint32_t offer(double share, double seconds) {
    uint32_t taken = 0;
    double owed = 0;
    for (double at = 0; at < seconds; at += 0.02) {
      for (owed += share * rate_ / 100 * 0.02; owed >= 1; --owed)
        taken += send();
      run(0.02);
    }
    return taken;
  }

  Admission admission;
  uint32_t refused = 0;

private:
  double rate_, left_ = 0;
  Admission::Clock::time_point now_{std::chrono::hours(1)};
  std::deque<Ticket> waiting_;
};

TEST(Admission, TakesAllWhileTheModelKeepsUp) {
  Desk desk;
  desk.offer(0.9, 60);
  EXPECT_EQ(desk.refused, 0u);
}

TEST(Admission, KeepsTheWaitNearItsLimitHoweverManyCome) {
  for (const double share : {1.5, 4.0, 20.0}) {
    Desk desk;
    desk.offer(share, 30);
    const uint32_t taken = desk.offer(share, 30);
    EXPECT_LE(desk.admission.waitSeconds(), 2.6) << "at " << share << " times what it can take";
    EXPECT_GE(taken, 290u) << "at " << share << " times what it can take"; // 300 were done
  }
}

TEST(Admission, TakesABurstThatComesToAnEmptyQueue) {
  Desk desk;
  EXPECT_EQ(desk.sendMany(256), 256u);
  EXPECT_GT(desk.admission.waitSeconds(), 20);
  desk.run(1.5);
  EXPECT_EQ(desk.sendMany(100), 15u + 4u); // in place of those that ended, and a few
}

TEST(Admission, ABurstHasItsBoundToo) {
  Desk desk({.mostWaiting = 50});
  EXPECT_EQ(desk.sendMany(60), 50u);
  const auto refused = desk.admission.ask("", {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::Exhausted);
  EXPECT_EQ(refused.error().message, "50 requests wait already, expected fewer than 50");
}

// As a program does that has a number of requests under way at any time.
TEST(Admission, TakesWhatComesInPlaceOfWhatEnded) {
  Desk desk;
  desk.sendMany(256);
  for (int i = 0; i < 600; ++i) {
    const uint32_t done = desk.run(i % 7 == 0 ? 3 : 0.1);
    if (i % 5 == 0)
      desk.pause(2); // the client is slow
    ASSERT_EQ(desk.sendMany(done), done) << "after " << i << " steps";
  }
}

// What ended while few waited pays for nothing.
TEST(Admission, AnOverloadAfterALongQuietTimeWaitsNoLonger) {
  Desk desk;
  desk.offer(0.95, 100);
  desk.offer(4, 10);
  EXPECT_LE(desk.admission.waitSeconds(), 3.5);
  desk.offer(4, 10);
  EXPECT_LE(desk.admission.waitSeconds(), 2.7);
}

TEST(Admission, AQueueThatWaitsLittleIsTakenBesideOneThatWaitsLong) {
  Desk desk;
  desk.sendMany(256, "greedy");
  desk.run(1.5);
  desk.sendMany(100, "greedy");
  EXPECT_FALSE(desk.send("greedy"));
  EXPECT_TRUE(desk.send("modest"));
  EXPECT_LE(desk.admission.waitSeconds("modest"), 0.3);
}

TEST(Admission, AFewWaitHoweverSlowTheModelIs) {
  Desk desk({.sureWaiting = 16}, 10);
  desk.sendMany(8);
  desk.run(1.5);
  EXPECT_EQ(desk.sendMany(20), 8u + 4u);
}

TEST(Admission, WithoutALimitAllWaitThatFit) {
  Desk desk({.mostWaiting = 100, .mostWaitSeconds = 0});
  desk.sendMany(60);
  desk.run(1.5);
  EXPECT_EQ(desk.sendMany(100), 100u - 45u);
}

TEST(Admission, SaysWhyAndWhenToComeAgain) {
  Desk desk;
  desk.sendMany(80);
  desk.run(1.5);
  desk.sendMany(100);
  const auto refused = desk.admission.ask("", Admission::Clock::time_point(std::chrono::hours(2)));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::Exhausted);
  EXPECT_EQ(refused.error().message, "the turn of one more request would come after about 9 s, "
                                     "expected at most 2 s; 84 requests wait");
  EXPECT_EQ(desk.admission.retrySeconds(""), 7u);
  EXPECT_EQ(desk.admission.retrySeconds("other"), 1u);
}

TEST(Admission, WhatEndsBeforeItBeginsWaitsNoMore) {
  Admission admission;
  admission.addStep(1000, 1);
  const Ticket ticket{"", 5000};
  admission.add(ticket, {});
  EXPECT_DOUBLE_EQ(admission.waitSeconds(), 5);
  admission.end(ticket, false);
  EXPECT_EQ(admission.waiting(), 0u);
  EXPECT_DOUBLE_EQ(admission.waitSeconds(), 0);
}

TEST(Admission, AnswersAreTakenToBeAsLongAsTheyWere) {
  Admission admission;
  for (int i = 0; i < 200; ++i)
    admission.addAnswer(40);
  EXPECT_NEAR(static_cast<double>(admission.tokensOf(10, UINT64_MAX)), 50, 1);
  EXPECT_EQ(admission.tokensOf(10, 3), 13u);
}

} // namespace
} // namespace sinter::serve
