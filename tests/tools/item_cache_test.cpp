// SPDX-License-Identifier: BSL-1.0
// The cache of a run is checked and counted by files, whatever the policy answers.
#include "run/item_cache.hpp"

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <ration/policies/shared_cache.hpp>

#include "support/catch.hpp"
#include "temporary.hpp"

using namespace ration;
using namespace ration::program;

namespace {

/// Grants every file whole, whether they fit or not.
struct grant_every_file {
    using policy_concept = policy_tag;
    using inputs = columns<in<std::int64_t, "jobs/max.cache">>;
    static constexpr meta about{.id = "test.grant_every_file", .version = "1.0.0", .summary = ""};

    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        for (std::size_t row = 0; row < t.jobs(); ++row)
            if (!out.set(row, 0, resource_id::cache, t.get<"jobs/max.cache">()[row])) return status::capacity;
        return status::ok;
    }
};

[[nodiscard]] job_config reader(std::string name, std::string tenant, std::vector<std::string> paths) {
    job_config out{};
    out.name = std::move(name);
    out.tenant = std::move(tenant);
    out.reads = std::move(paths);
    out.target = {.metric = "loss", .acceptable = 0.5, .objective = 0.1};
    return out;
}

/// Two tenants with two files of 100 bytes; both read the first one.
struct two_readers {
    temporary_file common, own;
    std::vector<job_config> jobs;
    std::vector<std::string> warnings;
    reporter out = reporter::with_listener([this](program::event const& e) {
        if (auto const* const what = std::get_if<warning>(&e.body)) warnings.emplace_back(what->message);
    });
    event_sink events{out};
    std::unique_ptr<job_table> table;

    two_readers() {
        for (auto const* file : {&common, &own}) std::ofstream(file->path()) << std::string(100, 'x');
        jobs = {reader("one", "a", {common.path()}), reader("two", "b", {common.path(), own.path(), common.path()})};
        make_table();
    }
    void make_table() { table = std::make_unique<job_table>(jobs, host_supply{.cpu = {1000}, .memory = {1 << 30}}); }
    [[nodiscard]] std::unique_ptr<item_cache> cache(std::int64_t size, std::unique_ptr<any_policy> policy) {
        return std::make_unique<item_cache>(
            item_cache::settings{.size = {size}, .round = seconds(1), .slots = jobs.size()}, std::move(policy), *table,
            events);
    }
};

template <class P>
[[nodiscard]] std::unique_ptr<any_policy> policy_of() {
    return std::make_unique<policy_adapter<P>>();
}

}  // namespace

TEST_CASE("item cache: grants of more files than fit are rejected as over the capacity") {
    two_readers of;
    auto const cache = of.cache(199, policy_of<grant_every_file>());
    auto const report = cache->plan();
    REQUIRE(report.rejected.size() == 1);
    CHECK(report.rejected[0].row == 1);
    CHECK(report.rejected[0].rule == check_rule::over_capacity);
    CHECK(report.changes.size() == 1);
}

TEST_CASE("item cache: a file that two tenants read takes its bytes once") {
    two_readers of;
    auto const cache = of.cache(200, policy_of<grant_every_file>());
    auto const report = cache->plan();
    CHECK(report.rejected.empty());
    CHECK(report.changes.size() == 2);
    CHECK(cache->files().files().size() == 2);
}

TEST_CASE("item cache: the file that serves both tenants is chosen, with the reason of the policy") {
    two_readers of;
    auto const cache = of.cache(100, policy_of<policies::shared_cache>());
    auto const report = cache->plan();
    REQUIRE(report.changes.size() == 1);
    CHECK(cache->files().find(report.changes[0].grant.job)->path == of.common.path());
    CHECK(cache->reason(report.changes[0].grant) == "the item serves its readers in this round");
}

TEST_CASE("item cache: a file that cannot be opened is a warning, and the others are cached") {
    two_readers of;
    of.jobs[0].reads.emplace_back("/no/such/file");
    of.make_table();
    auto const cache = of.cache(200, policy_of<grant_every_file>());
    CHECK(cache->plan().changes.size() == 2);
    REQUIRE(of.warnings.size() == 1);
    CHECK(of.warnings[0] ==
          "/no/such/file cannot be opened (No such file or directory); correct the path in 'reads', "
          "which is relative to the job's directory");
}

TEST_CASE("item cache: a service counts the tenants of the jobs that it has, and not those before") {
    constexpr std::size_t most = 64;
    two_readers of;
    of.jobs.clear();
    for (std::size_t t = 0; t < most; ++t)
        of.jobs.push_back(reader("job-" + std::to_string(t), "tenant-" + std::to_string(t), {of.common.path()}));
    host_supply const supply{.cpu = {1000}, .memory = {1 << 30}};
    for (bool const ends : {false, true}) {
        of.table = std::make_unique<job_table>(of.jobs, supply, most + 1);
        of.warnings.clear();
        item_cache cache({.size = {200}, .round = seconds(1), .slots = most + 1, .open = true},
                         policy_of<grant_every_file>(), *of.table, of.events);
        CHECK(cache.plan().changes.size() == 1);
        if (ends) of.table->jobs()[0].now = condition::finished;
        of.table->add(std::make_shared<job_config>(reader("new", "new tenant", {of.own.path()})), 0);
        CHECK(cache.plan().changes.size() == (ends ? 2 : 1));
        CHECK(of.warnings.size() == (ends ? 0 : 1));
    }
}

TEST_CASE("file loader: a file that has grown since its choice is not locked, and says so") {
    temporary_file file;
    std::ofstream(file.path()) << std::string(200, 'x');
    file_loader loader;
    for (std::int64_t const size : {100, 200})
        loader.give({.item = {1}, .path = file.path(), .owner = {}, .before = 0, .after = size});
    std::vector<file_loader::outcome> outcomes;
    while (outcomes.size() < 2)
        for (auto& one : loader.take()) outcomes.push_back(std::move(one));
    CHECK(outcomes[0].problem == "has another size than at its choice; it can be chosen again");
    CHECK(outcomes[1].problem.empty());
}
