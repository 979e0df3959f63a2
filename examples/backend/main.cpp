// SPDX-License-Identifier: BSL-1.0
// The backend of rlimit.hpp at work: its laws on a real process, then an engine that holds the process to what a policy
// gives it.
#include <csignal>
#include <iostream>
#include <sys/wait.h>
#include <unistd.h>

#include <ration/ration.hpp>
#include <ration/testing/laws.hpp>

#include "rlimit.hpp"

namespace {

struct a_gigabyte {
    using policy_concept = ration::policy_tag;
    static constexpr ration::meta about{.id = "org.example.a-gigabyte", .version = "1.0.0"};
    using inputs = ration::columns<>;

    ration::status decide(ration::tick<inputs> const& t, ration::grants& out) noexcept {
        for (std::size_t row = 0; row < t.jobs(); ++row)
            if (!out.set(row, 0, ration::resource_id::memory, std::int64_t{1} << 30)) return ration::status::capacity;
        return ration::status::ok;
    }
};

int complain(ration::error const& why) {
    std::cout << why.operation << ": " << why.subject.view() << ": " << name_of(why.code) << '\n';
    return 1;
}

ration::result<void> laws_hold(example::rlimit_backend& backend, ration::job_id job) {
    ration::setting const settings[] = {{job, 0, ration::resource_id::memory, std::int64_t{2} << 30},
                                        {job, 0, ration::resource_id::memory, std::int64_t{3} << 30},
                                        {job, 0, ration::resource_id::memory, ration::unlimited}};
    return ration::testing::backend_laws(backend, /*unknown*/ {99}, settings);
}

ration::result<std::int64_t> one_tick(example::rlimit_backend& backend, ration::job_id job) {
    ration::snapshot_store store;
    auto const columns = ration::standard_columns::declare(store, ration::standard_resources);
    if (!columns) return columns.failure();
    for (auto const table : {ration::table_id::jobs, ration::table_id::nodes})
        if (auto sized = store.resize(table, 1); !sized) return sized.failure();
    auto const& memory = columns->resources[static_cast<std::size_t>(ration::resource_id::memory)];
    store[columns->id][0] = job.value;
    store[columns->state][0] = static_cast<std::uint32_t>(ration::job_state::running);
    store[memory.capacity][0] = std::int64_t{4} << 30;
    store[memory.maximum][0] = ration::unlimited;

    ration::policy_adapter<a_gigabyte> policy, fallback;
    ration::engine<example::rlimit_backend> engine(backend, policy, fallback, store, *columns,
                                                   ration::standard_resources, {});
    if (auto bound = engine.bind({.jobs = 1, .nodes = 1}); !bound) return bound.failure();
    auto const report = engine.tick(ration::seconds(1));
    for (auto const& op : report.operations)
        std::cout << op.subject.view() << ": " << op.old_value.view() << " -> " << op.new_value.view() << " ("
                  << name_of(op.when) << ")\n";
    return engine.holdings().amount(job, 0, ration::resource_id::memory);
}

}  // namespace

int main() {
    ::rlimit most{};
    if (::getrlimit(RLIMIT_AS, &most) != 0 || most.rlim_cur != RLIM_INFINITY || most.rlim_max != RLIM_INFINITY) {
        std::cout << "skipped: this shell has a limit of address space already (ulimit -v)\n";
        return 77;
    }
    ::pid_t const child = ::fork();
    if (child == 0) {
        ::pause();
        ::_exit(0);
    }
    ration::job_id const job{1};
    example::rlimit_backend backend;
    backend.add(job, child);
    auto const kept = laws_hold(backend, job);
    auto const held = kept ? one_tick(backend, job) : ration::result<std::int64_t>(kept.failure());
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    if (!held) return complain(held.failure());
    auto const ended = backend.observe(job);
    if (ended || ended.failure().code != ration::errc::gone) return 1;
    std::cout << "the laws hold; held " << *held << " bytes\n";
}
