// SPDX-License-Identifier: BSL-1.0
// Columns that a worker reads where the host writes them.
#include <algorithm>
#include <csignal>
#include <random>
#include <sys/stat.h>
#include <vector>

#include <ration/host/standard_columns.hpp>

#include "loaded.hpp"

using namespace plugin_test;
using unit::must;

namespace {

/// A store with one node, its columns in `memory`, and a worker that sees `shown`.
struct echoing {
    snapshot_store store;
    standard_columns columns;
    std::unique_ptr<plugin::guarded_policy> policy;
    std::vector<grant> space = std::vector<grant>(1000);
    std::uint64_t ticks = 0;

    echoing(column_memory* memory, plugin::shared_columns const* shown, std::string const& name = "echo",
            std::string_view config = {})
        : store(memory), columns(must(standard_columns::declare(store, standard_resources))) {
        must(store.resize(table_id::nodes, 1));
        auto with = options(isolation::worker, config);
        with.worker.columns = shown;
        with.strikes.most = 65;  // of 64: never
        policy = must(plugin::open(path_of(name), with));
        must(policy->bind(store.schema(), {.jobs = 1000, .nodes = 1}));
    }

    void jobs(std::size_t n) {
        std::size_t const before = store.rows(table_id::jobs);
        must(store.resize(table_id::jobs, n));
        for (std::size_t row = before; row < n; ++row) store.at(columns.step, row) = 10 * row + 7;
    }
    /// What the policy saw of each job's steps.
    [[nodiscard]] std::vector<std::int64_t> seen(std::size_t room = 1000) {
        grants out({space.data(), room});
        out.read_by_rows();
        std::vector<std::int64_t> amounts;
        if (policy->decide(
                {.number = ++ticks, .seed = 1, .now = seconds(1), .budget = milliseconds(50), .data = store.view()},
                out) == status::ok)
            for (auto const& g : out.rows()) amounts.push_back(g.amount);
        return amounts;
    }
    [[nodiscard]] std::vector<std::int64_t> true_steps() {
        auto const steps = store[columns.step];
        return {steps.begin(), steps.end()};
    }
};

}  // namespace

TEST_CASE("a worker reads shared columns as they are, also after they have moved", "[plugin]") {
    plugin::shared_columns columns(std::size_t{16} << 20);
    echoing host(&columns, &columns);
    host.jobs(3);
    CHECK(host.seen() == std::vector<std::int64_t>{7, 17, 27});
    host.store.at(host.columns.step, 1) = 99;
    CHECK(host.seen() == std::vector<std::int64_t>{7, 99, 27});
    void const* const before = host.store[host.columns.step].data();
    host.jobs(900);
    REQUIRE(host.store[host.columns.step].data() != before);
    CHECK(host.seen() == host.true_steps());
    host.store.erase_row(table_id::jobs, 0);
    CHECK(host.seen() == host.true_steps());
}

TEST_CASE("columns that lie elsewhere are copied to the worker", "[plugin]") {
    plugin::shared_columns columns(std::size_t{1} << 20);
    echoing host(nullptr, &columns);
    host.jobs(3);
    CHECK(host.seen() == std::vector<std::int64_t>{7, 17, 27});
}

TEST_CASE("every row that can be held has room among the copied columns", "[plugin]") {
    echoing host(nullptr, nullptr, "holder");
    host.jobs(1000);
    std::size_t const rows = 1000 * std::size(standard_resources);  // each job holds each resource
    must(host.store.resize(table_id::held, rows));
    for (std::size_t i = 0; i < rows; ++i) {
        host.store.at(host.columns.held_job, i) = 7 * i + 1;
        host.store.at(host.columns.held_amount, i) = static_cast<std::int64_t>(i + 5);
    }
    auto const whole = static_cast<std::int64_t>(rows);
    CHECK(host.seen() == std::vector<std::int64_t>{whole, whole});
}

TEST_CASE("a worker that writes to shared columns dies, and they stay as they were", "[plugin]") {
    plugin::shared_columns columns(std::size_t{1} << 20);
    echoing host(&columns, &columns, "mischief", "scribble@2");
    host.jobs(2);
    host.store.at(host.columns.id, 0) = 5;
    host.store.at(host.columns.id, 1) = 6;
    static_cast<void>(host.seen());
    static_cast<void>(host.seen());
    CHECK(host.policy->last_fault().what == "its worker was killed by signal SIGSEGV");
    CHECK(host.store.at(host.columns.id, 0) == 5);
    CHECK(host.store.at(host.columns.id, 1) == 6);
}

TEST_CASE("a table that outgrows the shared columns says so and stays as it was", "[plugin]") {
    plugin::shared_columns columns(std::size_t{64} << 10);
    snapshot_store store(&columns);
    auto const step = must(store.declare<std::uint64_t>("jobs/step"));
    must(store.resize(table_id::jobs, 1000));
    store.at(step, 999) = 42;
    auto const grown = store.resize(table_id::jobs, 100'000);
    REQUIRE_FALSE(grown);
    CHECK(grown.failure().code == errc::no_capacity);
    CHECK(store.rows(table_id::jobs) == 1000);
    CHECK(store.at(step, 999) == 42);
}

TEST_CASE("what columns release is there for later ones, and no two columns overlap", "[plugin]") {
    plugin::shared_columns columns(std::size_t{1} << 20);
    struct block {
        unsigned char* place;
        std::size_t size;
        unsigned char filled;
    };
    std::vector<block> held;
    std::minstd_rand rng(11);
    auto const let_go = [&](std::size_t which) {
        auto const one = held[which];
        REQUIRE(std::all_of(one.place, one.place + one.size, [&](unsigned char c) { return c == one.filled; }));
        columns.release(one.place, one.size);
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
    };
    std::size_t refused = 0;
    for (int round = 0; round < 20'000; ++round) {
        if (rng() % 2 == 0 && !held.empty()) let_go(rng() % held.size());
        std::size_t const size = 64 * (1 + rng() % 256);
        auto* const place = static_cast<unsigned char*>(columns.allocate(size));
        if (place == nullptr) {
            ++refused;
            continue;
        }
        held.push_back({place, size, static_cast<unsigned char>(rng())});
        std::fill_n(place, size, held.back().filled);
    }
    CHECK(refused > 1000);  // it was full, time and again
    while (!held.empty()) let_go(rng() % held.size());
    void* const all = columns.allocate(columns.size());
    CHECK(all != nullptr);
    CHECK(columns.offset_of(all) == 0);
    CHECK(columns.allocate(64) == nullptr);
}

TEST_CASE("tables that come, grow and go take no more pages than the largest of them", "[plugin]") {
    plugin::shared_columns columns(std::size_t{64} << 20);
    auto const pages = [&] {
        struct stat about{};
        REQUIRE(::fstat(columns.fd(), &about) == 0);
        return about.st_blocks / 8;
    };
    auto const grow = [&] {
        snapshot_store store(&columns);
        auto const step = must(store.declare<std::uint64_t>("jobs/step"));
        for (std::size_t rows = 1000; rows <= 200'000; rows += 1000) must(store.resize(table_id::jobs, rows));
        store.at(step, 199'999) = 42;
    };
    grow();
    auto const once = pages();
    for (int i = 0; i < 50; ++i) grow();
    CHECK(pages() == once);
    CHECK(once < 3 * 200'000 * 8 / 4096 * 2);  // the column and the ids that a table has by itself
}

TEST_CASE("answers that list their changes are whole whatever came before them", "[plugin]") {
    plugin::shared_columns columns(std::size_t{16} << 20);
    echoing host(&columns, &columns);
    std::minstd_rand rng(7);
    auto const change = [&](std::size_t rows) {
        for (std::size_t i = 0; i < rows && host.store.rows(table_id::jobs) != 0; ++i)
            host.store.at(host.columns.step, rng() % host.store.rows(table_id::jobs)) = rng() % 1000;
    };
    for (int tick = 0; tick < 400; ++tick) {
        if (tick % 50 == 0) host.jobs(std::max<std::size_t>(host.store.rows(table_id::jobs), 100 + rng() % 900));
        if (tick % 7 == 0 && host.store.rows(table_id::jobs) > 10)
            host.store.erase_row(table_id::jobs, rng() % host.store.rows(table_id::jobs));
        if (tick % 60 == 59) must(host.store.resize(table_id::jobs, 20));  // and grows again
        change(tick % 11 == 0 ? 500 : tick % 5 == 0 ? 40 : 5);
        if (tick % 13 == 0) {  // refused with rows that are written already
            CHECK(host.seen(host.store.rows(table_id::jobs) / 2).empty());
            change(3);
        }
        if (tick % 17 == 0) {
            event const rejected{.kind = event_kind::grant_rejected};
            static_cast<plugin::worker_policy&>(host.policy->policy()).on_events({&rejected, 1});
        }
        if (tick % 100 == 99) {
            ::kill(static_cast<plugin::worker_policy&>(host.policy->policy()).pid(), SIGKILL);
            CHECK(host.seen().empty());
            for (int i = 0; i < 2000 && host.seen().empty(); ++i) ::usleep(1000);
        }
        INFO("tick " << tick << ' ' << host.policy->last_fault().what.c_str());
        bool const whole = host.seen() == host.true_steps();
        REQUIRE(whole);
    }
}

TEST_CASE("an answer that is written anew is not what was fetched of it before", "[plugin]") {
    plugin::shared_columns columns(std::size_t{1} << 20);
    echoing host(&columns, &columns, "redo");
    host.jobs(1000);
    for (int tick = 0; tick < 100; ++tick) {
        for (std::size_t row = 0; row < 1000; ++row) host.store.at(host.columns.step, row) += row % 3;
        bool const right = host.seen() == host.true_steps();
        REQUIRE(right);
    }
}
