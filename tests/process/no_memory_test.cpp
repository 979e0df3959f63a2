// SPDX-License-Identifier: BSL-1.0
// Each allocation of the process backend fails once, alone or with all after it: the call returns the error, the job
// keeps what it had, and the call can be made again.
#include <cstdio>
#include <functional>

#include "backend_support.hpp"
#include "support/allocations.hpp"

using namespace process_test;
using ration::errc;
using ration::result;

namespace {

// Makes the call with each allocation failing in turn; `judge` sees what it returned. Gives how many failed.
template <class Call, class Judge>
std::size_t starve(Call call, Judge judge) {
    std::size_t failures = 0;
    for (refusals const which : {refusals::one, refusals::all})
        for (std::size_t after = 0;; ++after) {
            INFO("allocation " << after);
            failing_memory memory(after, which);
            auto const done = call();
            memory.stop();
            if (!done) CHECK(name_of(done.failure().code) == "out of memory");
            judge(done);
            if (!memory.struck()) break;
            ++failures;
        }
    return failures;
}

}  // namespace

TEST_CASE("a backend that finds no memory is not opened, and leaves no guard") {
    std::size_t const failures = starve([] { return process::backend::open(); }, [](auto const&) {});
    CHECK(failures > 2);
    CHECK(process::backend::open());
}

TEST_CASE("a job that finds no memory is not added") {
    auto backend = opened();
    auto job = start(shell("exec sleep 60"));
    std::size_t const failures = starve([&] { return backend.add(first, {.pid = job.pid()}); },
                                        [&](result<void> const& added) {
                                            CHECK(backend.alive(first) == (added ? 1U : 0U));
                                            if (added) CHECK(backend.remove(first));
                                        });
    CHECK(failures > 4);
    REQUIRE(backend.add(first, {.pid = job.pid()}));
    end(backend, first, job);
}

TEST_CASE("a limit is planned, set and measured without memory, or later") {
    auto backend = opened();
    auto job = begin(backend, first, "exec sleep 60");
    std::size_t failures = 0;
    for (std::int64_t const amount : {std::int64_t{300}, std::int64_t{0}, ration::unlimited}) {
        ration::plan<process::operation> ops;
        failures += starve(
            [&] {
                ration::plan<process::operation>().swap(ops);
                return backend.plan({.job = first, .node = 0, .resource = ration::resource_id::cpu, .amount = amount},
                                    ops);
            },
            [&](result<void> const& planned) { CHECK(ops.empty() == !planned); });
        for (auto const& op : ops) {
            failures += starve([&] { return backend.apply(op); }, [](result<void> const& done) { CHECK(done); });
            failures += starve([&] { return backend.observe(first); }, [](auto const& seen) { CHECK(seen); });
            CHECK(backend.apply(op));
            CHECK(backend.verify(op));
        }
    }
    failures += starve([&] { return backend.freeze(first); }, [](auto const&) {});
    CHECK(backend.thaw(first));
    CHECK(backend.alive(first) == 1);
    CHECK(failures > 3);
    end(backend, first, job);
}
