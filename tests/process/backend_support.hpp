// SPDX-License-Identifier: BSL-1.0
/// Jobs under a process backend.
#pragma once

#include <algorithm>

#include <ration/process/backend.hpp>

#include "support.hpp"

namespace process_test {

inline constexpr ration::job_id first{1}, second{2};
inline constexpr char const* busy = "while :; do :; done";

inline process::backend opened() {
    auto out = process::backend::open();
    REQUIRE(out);
    return std::move(out).value();
}

inline test_job begin(process::backend& backend, ration::job_id job, std::string const& script) {
    auto place = [&](pid_t pid) { return backend.add(job, {.pid = pid}); };
    process::launch_spec spec = shell(script);
    spec.place = place;
    return start(spec);
}

inline ration::plan<process::operation> planned(process::backend& backend, ration::job_id job, std::int64_t amount) {
    ration::plan<process::operation> out;
    REQUIRE(backend.plan({.job = job, .node = 0, .resource = ration::resource_id::cpu, .amount = amount}, out));
    return out;
}

inline void give(process::backend& backend, ration::job_id job, std::int64_t amount) {
    for (auto const& op : planned(backend, job, amount)) {
        REQUIRE(backend.apply(op));
        REQUIRE(backend.verify(op));
    }
}

inline void follow(process::backend& backend, nanoseconds length) {
    nanoseconds const end = process::now() + length;
    for (nanoseconds time = process::now(); time < end; time = process::now()) {
        auto const wait = std::max(std::min(end, backend.next_wakeup()) - time, nanoseconds{0});
        ::usleep(static_cast<useconds_t>(wait.count / 1000));
        backend.run_due(process::now());
    }
}

inline void end(process::backend& backend, ration::job_id job, process::child& root) {
    CHECK(backend.kill(job));
    finish(root);
    CHECK(backend.remove(job));
}

}  // namespace process_test
