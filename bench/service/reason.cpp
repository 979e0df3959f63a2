// SPDX-License-Identifier: BSL-1.0
#include "reason.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

#include "serve/wait_reason.hpp"
#include "serve/waiting_jobs.hpp"

namespace bench {
namespace {

using namespace ration;
using namespace ration::program;

constexpr std::size_t repetitions = 201;

[[nodiscard]] double processor_microseconds() noexcept {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) / 1e3;
}

void require(bool holds, char const* sentence) {
    if (holds) return;
    std::fprintf(stderr, "bench.service.queue: %s\n", sentence);
    std::exit(1);
}

template <class T>
[[nodiscard]] T value_of(result<T> from) {
    require(static_cast<bool>(from), "the list of jobs: an operation failed; free space in the temporary folder");
    return std::move(from).value();
}

[[nodiscard]] std::string name_of(std::uint64_t tenant) { return "tenant-" + std::to_string(tenant); }

/// Tenants and priorities are spread evenly.
[[nodiscard]] job_store make_list(std::string const& folder, std::uint32_t tenants, std::size_t waiting) {
    auto store = value_of(job_store::open(folder + "/jobs.db", 1));
    for (std::size_t i = 0; i < waiting; ++i) {
        submission const what{.uid = 1,
                              .tenant = name_of(i * 7919 % tenants),
                              .key = std::to_string(i),
                              .name = "job",
                              .definition = "[[job]]",
                              .directory = "/",
                              .environment = {},
                              .priority = static_cast<std::int64_t>(i * 31 % 10),
                              .after = {}};
        require(value_of(store.submit(what, 1)).is_new, "the list of jobs: a key was used twice; correct this program");
    }
    require(static_cast<bool>(store.commit()),
            "the list of jobs: it cannot be written; free space in the temporary folder");
    return store;
}

/// The reason, from the state that the service has in memory.
[[nodiscard]] job_wait reason_of(stored_job const& job, waiting_jobs const& waiting, wait_context in,
                                 std::vector<run_member> const& run) {
    in.run = run;
    std::map<std::string, double> running;
    for (auto const& member : run) ++running[std::string(member.tenant)];
    auto const order = waiting.order(running, [](std::string_view) { return 1.0; });
    return wait_in_queue(job, {}, waiting.jobs_before(job.id, order), false, in);
}

}  // namespace

double reason_microseconds(std::uint32_t tenants, std::size_t waiting) {
    std::string folder = (std::filesystem::temp_directory_path() / "ration-bench-XXXXXX").string();
    require(::mkdtemp(folder.data()) != nullptr, "the temporary folder: it cannot be written; set TMPDIR");
    std::vector<double> took;
    {
        auto store = make_list(folder, tenants, waiting);
        waiting_jobs jobs;
        require(static_cast<bool>(jobs.refresh(store, {.wall_ms = 1, .boot_ms = 1})),
                "the list of jobs: it cannot be read; run it again");
        std::vector<std::string> names;
        for (std::uint32_t t = 0; t < tenants; ++t) names.push_back(name_of(t));
        std::vector<run_member> run;
        for (std::uint32_t t = 0; t < tenants; ++t)
            run.push_back({.tenant = names[t], .launched = true, .end_ms = std::int64_t{t} * 1000});
        tenant_tree const tree;
        wait_context const in{.now_ms = 1, .places = tenants, .tenants = tree};
        for (std::size_t i = 0; i < repetitions; ++i) {
            auto const job = value_of(store.find(static_cast<std::int64_t>(1 + i * (waiting - 1) / repetitions)));
            auto const start = processor_microseconds();
            auto const reason = reason_of(*job, jobs, in, run);
            took.push_back(processor_microseconds() - start);
            require(reason.sentence.starts_with("waits, since at most"),
                    "the reason is another one; correct this program");
        }
    }
    std::filesystem::remove_all(folder);
    std::ranges::sort(took);
    return took[took.size() / 2];
}

}  // namespace bench
