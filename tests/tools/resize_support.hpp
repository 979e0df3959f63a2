// SPDX-License-Identifier: BSL-1.0
/// What the tests of resizes share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "run/elastic_jobs.hpp"
#include "support/catch.hpp"

/// Names of CPU devices.
[[nodiscard]] inline std::vector<std::string> names(std::uint32_t count) {
    std::vector<std::string> out;
    for (std::uint32_t i = 0; i < count; ++i) out.push_back("cpu-" + std::to_string(i));
    return out;
}

[[nodiscard]] inline ration::program::resize_rules short_rules() {
    using ration::seconds;
    return {.deadlines = {.save = seconds(10), .stop = seconds(5), .start = seconds(20)},
            .terminate = seconds(2),
            .clear = seconds(3),
            .wait = seconds(60),
            .back_off = seconds(30)};
}

namespace resize_test {

using namespace ration;
using namespace ration::program;

/// One job on four devices, that has two of them and can be resized.
struct one_job {
    std::vector<std::string> const devices = names(4);
    elastic_jobs all{devices};
    job_id const id{1};
    resize* machine = nullptr;
    nanoseconds now = seconds(100);

    one_job() {
        all.add(id, short_rules(), 10);
        machine = all.find(id);
        want(2);
        REQUIRE(orders() == std::vector{resize_order::launch});
        machine->launch().hello(true, 2, "cpu-0,cpu-1", now);
        REQUIRE(machine->state().phase == resize_phase::steady);
        static_cast<void>(machine->take_notes());
    }
    void want(std::int64_t n) {
        machine->want(n);
        all.advance(now);
    }
    void pass(std::int64_t s) {
        now = now + seconds(static_cast<double>(s));
        all.advance(now);
    }
    /// A launch among them is made.
    [[nodiscard]] std::vector<resize_order> orders() {
        if (machine->launch().is_awaited()) machine->launch().made(now);
        return machine->take_orders();
    }
    [[nodiscard]] std::vector<std::string_view> reported() {
        std::vector<std::string_view> out;
        for (auto const& note : machine->take_notes()) out.push_back(name_of(note.what));
        return out;
    }
    void clear() {
        machine->cleared(now);
        machine->launch().made(now);
    }
    /// Up to the end of its first process.
    void save_and_stop(std::int64_t n) {
        want(n);
        REQUIRE(orders() == std::vector{resize_order::save});
        machine->checkpoint(true, now);
        REQUIRE(orders() == std::vector{resize_order::stop});
        REQUIRE(machine->exited(true, false, now) == exit_meaning::part_of_resize);
        REQUIRE(orders().empty());
    }
};

/// One job, launched at the second 1 with one of `count` devices, that has not sent a message yet.
struct launched_job {
    std::vector<std::string> const devices;
    elastic_jobs all{devices};
    resize& machine;

    explicit launched_job(std::uint32_t count)
        : devices(names(count)), machine((all.add(job_id{1}, short_rules(), 1), *all.find(job_id{1}))) {
        machine.want(1);
        all.advance(seconds(1));
        machine.launch().made(seconds(1));
    }
};

}  // namespace resize_test
