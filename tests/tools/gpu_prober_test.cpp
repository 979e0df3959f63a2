// SPDX-License-Identifier: BSL-1.0
// A thread that looks at GPUs, with looks that take as long as the test wants.
#include "run/gpu_prober.hpp"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <poll.h>

#include "support/catch.hpp"

using namespace ration;
using program::gpu_prober;

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
    void answer(gpu_prober::gpu_sample& seen) {
        std::unique_lock lock(mutex_);
        ++begun_;
        changed_.notify_all();
        changed_.wait(lock, [this] { return allowed_ >= begun_; });
        seen.received.push_back({{}, static_cast<unsigned>(begun_)});
        answered_ = begun_;
        changed_.notify_all();
    }
    void allow(int probes) {
        std::scoped_lock const lock(mutex_);
        allowed_ += probes;
        changed_.notify_all();
    }
    void wait_until_asked(int times) { wait_for(begun_, times); }
    void wait_until_answered(int times) { wait_for(answered_, times); }
};

[[nodiscard]] gpu_prober::probe_function by(std::shared_ptr<slow_driver> const& driver) {
    return [driver](gpu_prober::gpu_sample& seen) { driver->answer(seen); };
}

[[nodiscard]] gpu_prober::gpu_sample taken(gpu_prober& from) {
    pollfd ready{.fd = from.fd(), .events = POLLIN, .revents = 0};
    REQUIRE(::poll(&ready, 1, 30'000) == 1);
    auto seen = from.take();
    REQUIRE(seen);
    return std::move(*seen);
}

}  // namespace

TEST_CASE("gpu_prober: nobody who asks waits for the driver") {
    auto const driver = std::make_shared<slow_driver>();
    gpu_prober prober(by(driver));
    CHECK_FALSE(prober.take());
    CHECK(prober.ask() == 1);
    driver->wait_until_asked(1);
    for (int tick = 0; tick < 100; ++tick) CHECK_FALSE(prober.take());  // the driver has not been let answer
    driver->allow(1);
    CHECK(taken(prober).number == 1);
    CHECK_FALSE(prober.take());
}

TEST_CASE("gpu_prober: what is asked for while a look goes on is one look that begins after it") {
    auto const driver = std::make_shared<slow_driver>();
    gpu_prober prober(by(driver));
    CHECK(prober.ask() == 1);
    driver->wait_until_asked(1);
    CHECK(prober.ask() == 2);
    CHECK(prober.ask() == 2);
    driver->allow(1);
    CHECK(taken(prober).number == 1);
    driver->wait_until_asked(2);
    CHECK(prober.ask() == 3);
    driver->allow(2);
    driver->wait_until_answered(3);
    auto seen = taken(prober);
    if (seen.number == 2) seen = taken(prober);  // the third may not have been handed over yet
    CHECK(seen.number == 3);
}

TEST_CASE("gpu_prober: what the driver reports is not lost when nobody takes it in time") {
    auto const driver = std::make_shared<slow_driver>();
    gpu_prober prober(by(driver));
    for (int probe = 1; probe <= 3; ++probe) {
        prober.ask();
        driver->allow(1);
        driver->wait_until_answered(probe);
        while (static_cast<int>(prober.ask()) <= probe) {
        }  // a number is given once the look before has begun
    }
    driver->allow(1);
    driver->wait_until_answered(4);
    std::vector<unsigned> received;
    for (std::uint64_t last = 0; last < 4;) {
        auto const seen = taken(prober);
        for (auto const& [gpu, xid] : seen.received) received.push_back(xid);
        last = seen.number;
    }
    CHECK(received == std::vector<unsigned>{1, 2, 3, 4});
}

TEST_CASE("gpu_prober: a driver that does not answer holds up nobody's end, and is let go when it does") {
    auto const driver = std::make_shared<slow_driver>();
    {
        gpu_prober prober(by(driver));
        prober.ask();
        driver->wait_until_asked(1);
    }
    CHECK(driver.use_count() == 2);  // the thread is still there
    driver->allow(1);
    driver->wait_until_answered(1);
    while (driver.use_count() != 1) std::this_thread::yield();
}
