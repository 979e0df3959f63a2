// SPDX-License-Identifier: BSL-1.0
// Which GPUs of a run are cordoned and come back, by synthetic looks at a machine.
#include "run/gpu_watch.hpp"

#include <array>
#include <future>
#include <memory>
#include <poll.h>
#include <string>
#include <vector>

#include "support/catch.hpp"

using namespace ration;
using namespace ration::program;

namespace {

[[nodiscard]] cuda::device_id id(cuda::device_kind kind, unsigned char n) { return {kind, {n}}; }

[[nodiscard]] std::string name(unsigned char n) { return std::string(id(cuda::device_kind::gpu, n).name().view()); }

/// Two GPUs, and a third one that is cut into two.
[[nodiscard]] cuda::inventory machine() {
    cuda::inventory out;
    for (unsigned char n = 1; n <= 3; ++n) out.gpus.push_back({.what = {.id = id(cuda::device_kind::gpu, n)}});
    out.gpus[2].what.cut = true;
    out.gpus[2].what.instances = {id(cuda::device_kind::mig, 4), id(cuda::device_kind::mig, 5)};
    return out;
}

[[nodiscard]] std::vector<std::string> all_devices() {
    auto const part = [](unsigned char n) { return std::string(id(cuda::device_kind::mig, n).name().view()); };
    return {name(1), name(2), part(4), part(5)};
}

[[nodiscard]] cuda::inventory with_fault(std::size_t at) {
    auto out = machine();
    out.gpus[at].fault =
        error{.code = errc::gone, .operation = "ask NVML about", .subject = std::string_view("0000:17:00.0")};
    return out;
}

struct watched {
    std::vector<std::string> const devices = all_devices();
    gpu_watch watch{devices, machine(), seconds(0)};

    /// "-GPU 1" was cordoned, "+GPU 1" came back.
    [[nodiscard]] std::vector<std::string> see(cuda::inventory found, double at,
                                               std::vector<cuda::xid_report> const& received = {},
                                               std::vector<std::string> const& idle = {}) {
        std::vector<std::string> out;
        for (auto const& change : watch.classify(std::move(found), received, idle, seconds(at))) {
            out.push_back((change.cordoned ? "-" : "+") + change.device);
            why = change.why;
        }
        return out;
    }
    std::string why;
};

using strings = std::vector<std::string>;

}  // namespace

TEST_CASE("gpu_watch: a GPU with a fault is cordoned, told once, and comes back by being sound twice after its wait") {
    watched t;
    CHECK(t.see(machine(), 5).empty());
    CHECK(t.see(with_fault(0), 10) == strings{"-" + name(1)});
    CHECK(t.why == "ask NVML about 0000:17:00.0: gone");
    CHECK(t.see(with_fault(0), 15).empty());
    CHECK(t.see(machine(), 44).empty());  // 30 s after the fault was last seen
    CHECK(t.see(machine(), 46).empty());
    CHECK(t.see(machine(), 51) == strings{"+" + name(1)});
    CHECK(t.see(machine(), 56).empty());
}

TEST_CASE("gpu_watch: one that is not there any more takes its instances with it, and the others stay") {
    watched t;
    auto less = machine();
    less.gpus.pop_back();
    CHECK(t.see(less, 5) == strings{"-" + t.devices[2], "-" + t.devices[3]});
    CHECK(t.why == "it is not there any more");
}

TEST_CASE("gpu_watch: what the driver reports counts, unless it is a program's own fault") {
    watched t;
    CHECK(t.see(machine(), 5, {{id(cuda::device_kind::gpu, 2), 31}}).empty());
    CHECK(t.see(machine(), 10, {{id(cuda::device_kind::gpu, 2), 31}, {id(cuda::device_kind::gpu, 2), 79}}) ==
          strings{"-" + name(2)});
    CHECK(t.why == "the driver reports Xid 79");
}

TEST_CASE("gpu_watch: a GPU on which somebody else computes alone is cordoned while nobody of the run has it") {
    watched t;
    auto taken = machine();
    taken.gpus[1].users = {4711};
    CHECK(t.see(taken, 5, {}, {name(2)}).empty());  // others may compute beside it
    taken.gpus[1].exclusive = true;
    CHECK(t.see(taken, 10, {}, {name(1)}).empty());  // it is a job's own process
    CHECK(t.see(taken, 15, {}, {name(1), name(2)}) == strings{"-" + name(2)});
    CHECK(t.why.find("one process") != std::string::npos);
}

TEST_CASE("gpu_watch: a device that was not sound at the start of the run is none of it") {
    std::vector<std::string> const devices{name(1), name(9)};
    gpu_watch watch(devices, machine(), seconds(0));
    auto nothing = machine();
    nothing.gpus.clear();
    CHECK(watch.classify(nothing, {}, {}, seconds(5)).size() == 1);
}

namespace {

/// A driver that shows the first two GPUs in exclusive use, with a process on each.
[[nodiscard]] cuda::inventory both_taken() {
    auto out = machine();
    for (std::size_t at : {0U, 1U}) {
        out.gpus[at].exclusive = true;
        out.gpus[at].users = {4711};
    }
    return out;
}

/// The changes by the next look that there is.
[[nodiscard]] strings cordoned_by_next(gpu_watch& watch, strings const& idle, double at) {
    pollfd ready{.fd = watch.fd(), .events = POLLIN, .revents = 0};
    REQUIRE(::poll(&ready, 1, 30'000) == 1);
    strings out;
    for (auto const& change : watch.probe(idle, seconds(at))) out.push_back(change.device);
    return out;
}

}  // namespace

TEST_CASE("gpu_watch: a look counts by who was idle all along, and the next one is asked for when it is time") {
    strings const devices = all_devices(), first{name(1)}, both{name(1), name(2)};
    gpu_watch watch(devices, machine(), seconds(0));
    CHECK(watch.probe(both, seconds(100)).empty());  // the watch is not started yet
    watch.start([](gpu_prober::gpu_sample& seen) { seen.found = both_taken(); });
    CHECK(watch.judged() == 0);
    CHECK(watch.probe(both, seconds(4)).empty());  // not asked for before
    CHECK(watch.probe(both, seconds(5)).empty());
    // The second one was given to a job meanwhile, whose process it may be
    CHECK(cordoned_by_next(watch, first, 6) == first);
    CHECK(watch.judged() == 1);
    CHECK(watch.ask(first, seconds(7)) == 2);
    CHECK(cordoned_by_next(watch, both, 8).empty());  // and is idle again only since then
    CHECK(watch.ask(both, seconds(9)) == 3);
    CHECK(cordoned_by_next(watch, both, 10) == strings{name(2)});
    CHECK(watch.judged() == 3);
}

TEST_CASE("gpu_watch: a process on a GPU is one on its instances too, and the last look that was judged counts") {
    strings const devices = all_devices();
    gpu_watch watch(devices, machine(), seconds(0));
    CHECK_FALSE(watch.in_use(devices));
    auto found = machine();
    found.gpus[0].users = {4711};
    found.gpus[2].users = {4712};
    CHECK(watch.classify(found, {}, {}, seconds(1)).empty());
    CHECK(watch.in_use(strings{name(2), name(1)}));
    CHECK(watch.in_use(strings{devices[3]}));
    CHECK_FALSE(watch.in_use(strings{name(2)}));
    CHECK_FALSE(watch.in_use(strings{}));
    CHECK(watch.seen().gpus[2].users.size() == 1);
    CHECK(watch.classify(machine(), {}, {}, seconds(2)).empty());
    CHECK_FALSE(watch.in_use(devices));
}

namespace {

/// A watch whose driver answers each question when the test provides the answer, with that answer.
struct questioned {
    std::promise<cuda::inventory> answers[2];
    std::shared_ptr<int> asked = std::make_shared<int>(0);
    gpu_watch watch{all_devices(), machine(), seconds(0)};

    questioned() {
        watch.start([futures = std::array{answers[0].get_future().share(), answers[1].get_future().share()},
                     at = asked](gpu_prober::gpu_sample& seen) {
            auto const number = static_cast<std::size_t>((*at)++);
            seen.found = futures[number].get();
            if (number == 0) seen.received.push_back({id(cuda::device_kind::gpu, 2), 79});
        });
    }
};

}  // namespace

TEST_CASE(
    "a driver that does not answer is trouble when it takes longer than any driver does, and until it has answered") {
    questioned t;
    strings const idle;
    CHECK_FALSE(t.watch.trouble(seconds(1000)));  // no question was asked
    t.watch.ask(idle, seconds(1));
    while (t.watch.ask(idle, seconds(3)) == 1) {
    }  // the first has begun
    CHECK_FALSE(t.watch.trouble(seconds(5.9)));
    auto const reply = t.watch.trouble(seconds(6));
    REQUIRE(reply);
    CHECK(reply->find("their driver does not answer; running jobs continue") == 0);
    CHECK(reply->find("nvidia-smi") != std::string::npos);
    t.answers[0].set_value(machine());
    CHECK(cordoned_by_next(t.watch, idle, 7) == strings{name(2)});
    CHECK_FALSE(t.watch.trouble(seconds(11.9)));
    CHECK(t.watch.trouble(seconds(12)));
    t.answers[1].set_value(machine());
}

TEST_CASE(
    "a look in which NVML fails shows nothing of any GPU, and what the driver has reported meanwhile is not lost") {
    questioned t;
    strings const idle;
    t.watch.ask(idle, seconds(1));
    cuda::inventory nothing;
    nothing.why_no_nvml =
        error{.code = errc::conflict, .operation = "initialise NVML", .remedy = "restart the machine"};
    t.answers[0].set_value(nothing);
    CHECK(cordoned_by_next(t.watch, idle, 2).empty());
    CHECK(t.watch.judged() == 0);
    CHECK(t.watch.seen().gpus.size() == 3);
    CHECK_FALSE(t.watch.trouble(seconds(5.9)));
    CHECK(t.watch.trouble(seconds(6))
              .value_or("")
              .find("initialise NVML: conflict; restart the machine; running jobs continue") == 0);
    CHECK(t.watch.probe(idle, seconds(6)).empty());  // asks again
    t.answers[1].set_value(machine());
    CHECK(cordoned_by_next(t.watch, idle, 7) == strings{name(2)});
    CHECK(t.watch.judged() == 2);
    CHECK_FALSE(t.watch.trouble(seconds(100)));
}

TEST_CASE("gpu_watch: where NVML did not answer at the start either its absence is no trouble") {
    auto without = machine();
    without.why_no_nvml = error{.code = errc::not_supported, .operation = "initialise NVML"};
    strings const devices = all_devices(), idle;
    gpu_watch watch(devices, without, seconds(0));
    watch.start([without](gpu_prober::gpu_sample& seen) { seen.found = without; });
    watch.ask(idle, seconds(1));
    CHECK(cordoned_by_next(watch, idle, 2).empty());
    CHECK(watch.judged() == 1);
    CHECK_FALSE(watch.trouble(seconds(100)));
}

TEST_CASE("gpu_watch: what is idle only since a second look was asked for does not count in the first") {
    strings const devices = all_devices(), both{name(1), name(2)};
    gpu_watch watch(devices, machine(), seconds(0));
    std::promise<void> answers;
    watch.start([until = answers.get_future().share()](gpu_prober::gpu_sample& seen) {
        until.wait();
        seen.found = both_taken();
    });
    CHECK(watch.ask(strings{name(1)}, seconds(1)) == 1);
    while (watch.ask(both, seconds(2)) == 1) {
    }  // the first has begun
    answers.set_value();
    strings cordoned;
    while (watch.judged() < 2)
        for (auto const& device : cordoned_by_next(watch, both, 3)) cordoned.push_back(device);
    CHECK(cordoned == strings{name(1)});
}
