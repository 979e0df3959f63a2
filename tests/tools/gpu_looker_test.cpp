// SPDX-License-Identifier: BSL-1.0
// A thread that looks at GPUs, with looks that take as long as the test wants.
#include "run/gpu_looker.hpp"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <poll.h>

#include "support/catch.hpp"

using namespace ration;
using program::gpu_looker;

namespace {

/// A driver that answers when it is let.
class slow_driver {
    std::mutex mutex_;
    std::condition_variable changed_;
    int begun_ = 0, allowed_ = 0, answered_ = 0;

    void wait_for(int const& count, int least) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return count >= least; });
    }

public:
    void answer(gpu_looker::sight& seen) {
        std::unique_lock lock(mutex_);
        ++begun_;
        changed_.notify_all();
        changed_.wait(lock, [this] { return allowed_ >= begun_; });
        seen.heard.push_back({{}, static_cast<unsigned>(begun_)});
        answered_ = begun_;
        changed_.notify_all();
    }
    void allow(int looks) {
        std::scoped_lock const lock(mutex_);
        allowed_ += looks;
        changed_.notify_all();
    }
    void wait_until_asked(int times) { wait_for(begun_, times); }
    void wait_until_answered(int times) { wait_for(answered_, times); }
};

[[nodiscard]] gpu_looker::looking by(std::shared_ptr<slow_driver> const& driver) {
    return [driver](gpu_looker::sight& seen) { driver->answer(seen); };
}

[[nodiscard]] gpu_looker::sight taken(gpu_looker& from) {
    pollfd ready{.fd = from.fd(), .events = POLLIN, .revents = 0};
    REQUIRE(::poll(&ready, 1, 30'000) == 1);
    auto seen = from.take();
    REQUIRE(seen);
    return std::move(*seen);
}

}  // namespace

TEST_CASE("nobody who asks waits for the driver") {
    auto const driver = std::make_shared<slow_driver>();
    gpu_looker looker(by(driver));
    CHECK_FALSE(looker.take());
    CHECK(looker.ask() == 1);
    driver->wait_until_asked(1);
    for (int tick = 0; tick < 100; ++tick) CHECK_FALSE(looker.take());  // the driver has not been let answer
    driver->allow(1);
    CHECK(taken(looker).number == 1);
    CHECK_FALSE(looker.take());
}

TEST_CASE("what is asked for while a look goes on is one look that begins after it") {
    auto const driver = std::make_shared<slow_driver>();
    gpu_looker looker(by(driver));
    CHECK(looker.ask() == 1);
    driver->wait_until_asked(1);
    CHECK(looker.ask() == 2);
    CHECK(looker.ask() == 2);
    driver->allow(1);
    CHECK(taken(looker).number == 1);
    driver->wait_until_asked(2);
    CHECK(looker.ask() == 3);
    driver->allow(2);
    driver->wait_until_answered(3);
    auto seen = taken(looker);
    if (seen.number == 2) seen = taken(looker);  // the third may not have been handed over yet
    CHECK(seen.number == 3);
}

TEST_CASE("what the driver reports is not lost when nobody takes it in time") {
    auto const driver = std::make_shared<slow_driver>();
    gpu_looker looker(by(driver));
    for (int look = 1; look <= 3; ++look) {
        looker.ask();
        driver->allow(1);
        driver->wait_until_answered(look);
        while (static_cast<int>(looker.ask()) <= look) {
        }  // a number is given once the look before has begun
    }
    driver->allow(1);
    driver->wait_until_answered(4);
    std::vector<unsigned> heard;
    for (std::uint64_t last = 0; last < 4;) {
        auto const seen = taken(looker);
        for (auto const& [gpu, xid] : seen.heard) heard.push_back(xid);
        last = seen.number;
    }
    CHECK(heard == std::vector<unsigned>{1, 2, 3, 4});
}

TEST_CASE("a driver that does not answer holds up nobody's end, and is let go when it does") {
    auto const driver = std::make_shared<slow_driver>();
    {
        gpu_looker looker(by(driver));
        looker.ask();
        driver->wait_until_asked(1);
    }
    CHECK(driver.use_count() == 2);  // the thread is still there
    driver->allow(1);
    driver->wait_until_answered(1);
    while (driver.use_count() != 1) std::this_thread::yield();
}
