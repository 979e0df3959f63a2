// SPDX-License-Identifier: BSL-1.0
// One run of the backend for the tests of the suite.
#pragma once

#include <string>
#include <utility>

#include "everywhere.hpp"

namespace cgroup_test {

inline constexpr job_id vae{1}, lstm{2}, unknown{9};
inline constexpr resource_id soft_memory = resource_id::first_custom;

// A run of the backend on one machine, with checks that its jobs get what they are planned.
struct run {
    machine& on;
    backend groups;

    [[nodiscard]] static run start(machine& on, cpu_cap cpus = {}) {
        std::string const name = run_name_here();
        auto opened = backend::open(on.calls(), {.name = name, .cpus = std::move(cpus), .soft_memory = soft_memory});
        if (!opened) FAIL(on.name() << ": " << opened.failure().operation << " " << opened.failure().subject.view());
        return {on, std::move(opened).value()};
    }

    [[nodiscard]] ration::plan<operation> planned(job_id id, resource_id resource, std::int64_t amount) {
        ration::plan<operation> out;
        auto const done = groups.plan({.job = id, .node = 0, .resource = resource, .amount = amount}, out);
        INFO((done ? "" : done.failure().operation));
        CHECK(done);
        return out;
    }

    [[nodiscard]] errc refusal(job_id id, resource_id resource, std::int64_t amount) {
        ration::plan<operation> out;
        auto const done = groups.plan({.job = id, .node = 0, .resource = resource, .amount = amount}, out);
        CHECK_FALSE(done);
        CHECK(out.empty());
        return done ? errc::internal : done.failure().code;
    }

    void hold(job_id id, resource_id resource, std::int64_t amount) {
        for (operation const& op : planned(id, resource, amount)) {
            CHECK(groups.apply(op));
            CHECK(groups.verify(op));
        }
        CHECK(planned(id, resource, amount).empty());
    }

    // The text of a file of the job's group, straight from the machine.
    [[nodiscard]] std::string text(controller which, std::string const& job, char const* file) {
        directory const* const place = groups.run().place_of(which);
        REQUIRE(place != nullptr);
        auto const below = place->child(job);
        std::string scratch;
        auto const shown = below ? below->read(file, scratch) : result<std::string_view>(below.failure());
        return shown ? std::string(*shown) : "(" + std::string(name_of(shown.failure().code)) + ")";
    }
    [[nodiscard]] bool on_v2(controller which) const { return groups.hierarchies().owner(which).kind == version::v2; }
    [[nodiscard]] std::string quota(std::string const& job) {
        return on_v2(controller::cpu) ? text(controller::cpu, job, "cpu.max")
                                      : text(controller::cpu, job, "cpu.cfs_quota_us");
    }
};

}  // namespace cgroup_test
