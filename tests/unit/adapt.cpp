// SPDX-License-Identifier: BSL-1.0
#include <array>
#include <limits>
#include <list>
#include <memory>
#include <span>
#include <vector>

#include <ration/adapt/adapt.hpp>
#include <ration/allocation_host.hpp>
#include <ration/policies/elastic_batch_dp.hpp>
#include <ration/policies/equal_share.hpp>
#include <ration/policies/fifo.hpp>

#include "support/catch.hpp"

using namespace ration;

namespace theirs {

struct entry {
    int id;
    float loss;
    double used_cpu;
    std::int32_t min_cpu, max_cpu;
    std::uint32_t tenant;
    two_tier_target target;
};

class task {
    unsigned number_;
    double cores_;

public:
    task(unsigned number, double cores) : number_(number), cores_(cores) {}
    [[nodiscard]] unsigned number() const { return number_; }
    [[nodiscard]] double cores() const { return cores_; }
};

struct bare {
    std::uint64_t id;
};

struct request {
    std::uint64_t id;
    std::int64_t request_gpu, min_gpu, max_gpu;
};

struct elastic {
    std::uint64_t id;
    std::vector<double> speedup;
    std::array<std::int64_t, 3> batch;
    double restart_cost = 0;
    std::int64_t submitted = 0;
};

struct table {
    std::vector<std::uint64_t> id;
    std::vector<double> used_cpu;
    std::vector<float> loss;
    std::vector<std::int64_t> max_cpu;
};

struct elastic_table {
    std::vector<std::uint64_t> id;
    std::vector<std::array<double, 3>> speedup, loss_window;
    std::vector<std::array<std::int64_t, 2>> batch;
};

}  // namespace theirs

// [struct]
BOOST_HANA_ADAPT_STRUCT(theirs::entry, id, loss, used_cpu, min_cpu, max_cpu, tenant, target);
// [struct]
BOOST_HANA_ADAPT_ADT(theirs::task, (id, [](auto const& t) { return t.number(); }),
                     (used_cpu, [](auto const& t) { return 1000 * t.cores(); }),
                     (restart_cost, [](auto const&) { return 2; }));
BOOST_HANA_ADAPT_STRUCT(theirs::bare, id);
BOOST_HANA_ADAPT_STRUCT(theirs::request, id, request_gpu, min_gpu, max_gpu);
BOOST_HANA_ADAPT_STRUCT(theirs::elastic, id, speedup, batch, restart_cost, submitted);
BOOST_HANA_ADAPT_STRUCT(theirs::table, id, used_cpu, loss, max_cpu);
BOOST_HANA_ADAPT_STRUCT(theirs::elastic_table, id, speedup, loss_window, batch);

namespace {

/// Keeps the rows that it was shown, and gives each job a number of millicores that identifies the job by its id.
struct leak_check {
    using policy_concept = policy_tag;
    static constexpr meta about{.id = "org.example.leak_check", .version = "1.0.0"};
    using inputs = columns<in<std::uint64_t, "jobs/id">, in<double, "jobs/loss">, in<double, "jobs/used.cpu">,
                           in<std::int64_t, "jobs/min.cpu">, in<std::int64_t, "jobs/max.cpu">,
                           in<std::uint32_t, "jobs/tier">, in<std::uint32_t, "jobs/tiers">>;
    struct seen {
        std::uint64_t id;
        double loss, used;
        std::int64_t least, most;
        std::uint32_t tier, tiers;
        friend bool operator==(seen const&, seen const&) = default;
    };
    std::vector<seen> rows;
    double const* used = nullptr;

    status decide(tick<inputs> const& t, grants& out) noexcept {
        rows.clear();
        used = t.get<"jobs/used.cpu">().data();
        for (std::size_t i = 0; i < t.jobs(); ++i) {
            rows.push_back({t.get<"jobs/id">()[i], t.get<"jobs/loss">()[i], t.get<"jobs/used.cpu">()[i],
                            t.get<"jobs/min.cpu">()[i], t.get<"jobs/max.cpu">()[i], t.get<"jobs/tier">()[i],
                            t.get<"jobs/tiers">()[i]});
            if (!out.set(i, 0, resource_id::cpu, static_cast<std::int64_t>(rows.back().id * 10)))
                return status::capacity;
        }
        return status::ok;
    }
};

capacities const machine[] = {{.cpu = 8000}};

two_tier_target wanted() { return *two_tier_target::make({.acceptable = 120, .objective = 110}); }

}  // namespace

TEST_CASE("adapted: a struct is a job with every member in its column", "[adapt]") {
    std::list<theirs::entry> const queue{{7, 118, 4000, 10, 5000, 3, wanted()},
                                         {2, 340.5, 2000, 20, 6000, 4, wanted()}};
    leak_check policy;
    // [jobs]
    auto const answer = allocate(policy, adapted(queue), machine);
    // [jobs]
    REQUIRE(answer);
    CHECK(policy.rows ==
          std::vector<leak_check::seen>{{2, 340.5, 2000, 20, 6000, 0, 2}, {7, 118, 4000, 10, 5000, 1, 2}});
    REQUIRE(answer->granted.size() == 2);
    CHECK((answer->granted[1].job.value == 7 && answer->granted[1].amount() == 70));
    STATIC_REQUIRE(Job<adapted_job<theirs::entry>>);
    STATIC_REQUIRE(can_pair<leak_check, adapted_job<theirs::entry>>);
}

TEST_CASE("adapted: data behind functions are adapted by accessors, and structs may be reached by pointers",
          "[adapt]") {
    std::vector<std::unique_ptr<theirs::task>> queue;
    queue.push_back(std::make_unique<theirs::task>(5, 1.5));
    leak_check policy;
    REQUIRE(allocate(policy, adapted(queue), machine));
    CHECK(policy.rows == std::vector<leak_check::seen>{{5, 0, 1500, 0, unlimited, 0, 0}});
    snapshot_store store;
    auto const standard = standard_columns::declare(store, standard_resources);
    REQUIRE(standard);
    auto const jobs = adapted(queue);
    REQUIRE(fill(store, *standard, jobs.view()));
    CHECK(store.at(standard->restart_cost, 0) == 2);
}

TEST_CASE("adapted: what a struct does not have is nothing wanted and anything accepted", "[adapt]") {
    std::vector<theirs::bare> const queue{{1}};
    auto const job = adapted(queue)[0];
    CHECK(job.bounds_of(resource_id::cpu) == bounds{});
    CHECK(job.bounds_of(static_cast<resource_id>(77)) == bounds{});
    CHECK(job.target().tiers() == 0);
    CHECK_FALSE(is_finite(job.progress().value));
    STATIC_REQUIRE_FALSE(can_pair<leak_check, adapted_job<theirs::bare>>);  // jobs/used.cpu is not there
}

TEST_CASE("adapted: a vector of each job is a row of a column that is as wide as the longest", "[adapt]") {
    std::vector<theirs::elastic> queue{{9, {0, 1}, {0, 32, 64}}, {4, {0, 1, 1.5, 1.75}, {0, 16, 16}}};
    snapshot_store store;
    auto const standard = standard_columns::declare(store, standard_resources);
    REQUIRE(standard);
    auto const fill_all = [&] {
        return fill(store, *standard, std::span<adapted_job<theirs::elastic> const>(adapted(queue).view()));
    };
    REQUIRE(fill_all());
    auto const* const info = find_column(store.schema(), "jobs/speedup");
    REQUIRE((info != nullptr && info->width == 4 && info->type == column_type::f64));
    auto const speedup = *store.declare<double>("jobs/speedup", 4);
    CHECK(std::vector<double>(store[speedup].begin(), store[speedup].end()) ==
          std::vector<double>{0, 1, 1.5, 1.75, 0, 1, 0, 0});
    CHECK(store[*store.declare<std::int64_t>("jobs/batch", 3)][1] == 16);
    queue = {{9, {0, 1, 2}, {}}};
    REQUIRE(fill_all());  // shorter ones fit, and nothing old is left
    CHECK(std::vector<double>(store[speedup].begin(), store[speedup].end()) == std::vector<double>{0, 1, 2, 0});
    queue[0].speedup.resize(5);
    CHECK(fill_all().failure().code == errc::conflict);
    STATIC_REQUIRE(can_pair<policies::elastic_batch_dp, adapted_job<theirs::elastic>>);
}

namespace {

/// Remembers who holds what where, and of which kind the nodes are.
struct auditor {
    using policy_concept = policy_tag;
    static constexpr meta about{.id = "org.example.auditor", .version = "1.0.0"};
    using inputs =
        columns<in<std::uint64_t, "held/job">, in<std::uint32_t, "held/node">, in<std::uint32_t, "held/resource">,
                in<std::int64_t, "held/amount">, in<std::uint32_t, "nodes/type">>;
    std::vector<setting> held;
    std::vector<std::uint32_t> types;

    status decide(tick<inputs> const& t, grants&) noexcept {
        for (std::size_t i = 0; i < t.get<"held/job">().size(); ++i)
            held.push_back({{t.get<"held/job">()[i]},
                            t.get<"held/node">()[i],
                            static_cast<resource_id>(t.get<"held/resource">()[i]),
                            t.get<"held/amount">()[i]});
        types.assign(t.get<"nodes/type">().begin(), t.get<"nodes/type">().end());
        return status::ok;
    }
};

}  // namespace

TEST_CASE("adapted: a policy sees who holds what where, and of which kind the nodes are", "[adapt]") {
    std::vector<theirs::bare> const queue{{1}, {2}};
    capacities const nodes[] = {{.gpu = 8}, {.gpu = 4, .type = 1}};
    setting const held[] = {{{2}, 1, resource_id::gpu, 3}};
    auditor policy;
    REQUIRE(allocate(policy, adapted(queue), nodes, {.held = held}));
    REQUIRE(policy.held.size() == 1);
    CHECK(policy.held[0] == held[0]);
    CHECK(policy.types == std::vector<std::uint32_t>{0, 1});
}

TEST_CASE("adapted: what was carried out is told when the policy is asked again", "[adapt]") {
    std::vector<theirs::request> const queue{{1, 4, 4, 4}, {2, 3, 3, 3}, {3, 2, 2, 2}};
    capacities const nodes[] = {{.gpu = 4}, {.gpu = 4}};
    policies::fifo policy;
    // [held]
    std::vector<setting> in_effect;  // job, node, resource and amount of each
    auto const answer = allocate(policy, adapted(queue), nodes, {.held = in_effect});
    for (auto const& g : answer->granted) in_effect.push_back(g.what());
    auto const next = allocate(policy, adapted(queue), nodes, {.held = in_effect});
    // [held]
    CHECK(in_effect == std::vector<setting>{{{1}, 0, resource_id::gpu, 4}, {{2}, 1, resource_id::gpu, 3}});
    for (auto const& g : next->granted) CHECK(g.growth() == 0);  // no job moves, and the third waits
}

TEST_CASE("adapted: two jobs of one id are refused, adapted or not", "[adapt]") {
    std::vector<theirs::bare> const queue{{1}, {1}};
    policies::equal_share policy;
    CHECK(allocate(policy, adapted(queue), machine).failure().code == errc::already_exists);
}

TEST_CASE("adapted: a sorted table is shown where it is, and another is copied in order", "[adapt]") {
    theirs::table jobs{{2, 7}, {2000, 4000}, {340.5F, 118}, {6000, 5000}};
    leak_check policy;
    std::vector<leak_check::seen> const rows{{2, 340.5, 2000, 0, 6000, 0, 0}, {7, 118, 4000, 0, 5000, 0, 0}};
    auto const answer = allocate(policy, adapted_table(jobs), machine);
    REQUIRE(answer);
    CHECK(policy.rows == rows);
    CHECK(policy.used == jobs.used_cpu.data());
    CHECK((answer->granted.size() == 2 && answer->granted[1].amount() == 70));

    jobs = {{7, 2}, {4000, 2000}, {118, 340.5F}, {5000, 6000}};
    REQUIRE(allocate(policy, adapted_table(jobs), machine));
    CHECK(policy.rows == rows);
    CHECK(policy.used != jobs.used_cpu.data());
}

namespace {

/// Keeps the rows of several values that it was shown, one after another.
struct row_leak_check {
    using policy_concept = policy_tag;
    static constexpr meta about{.id = "org.example.row-leak check", .version = "1.0.0"};
    using inputs = columns<in_rows<double, "jobs/speedup">, in_rows<double, "jobs/loss.window">,
                           in_rows<std::int64_t, "jobs/batch">>;
    std::vector<double> speedup, window;
    std::vector<std::int64_t> batch;
    double const* shown = nullptr;

    status decide(tick<inputs> const& t, grants&) noexcept {
        speedup.clear();
        window.clear();
        batch.clear();
        for (std::size_t i = 0; i < t.jobs(); ++i) {
            auto const s = t.get<"jobs/speedup">()[i], w = t.get<"jobs/loss.window">()[i];
            auto const b = t.get<"jobs/batch">()[i];
            if (i == 0) shown = s.data();
            speedup.insert(speedup.end(), s.begin(), s.end());
            window.insert(window.end(), w.begin(), w.end());
            batch.insert(batch.end(), b.begin(), b.end());
        }
        return status::ok;
    }
};

}  // namespace

TEST_CASE("adapted: a table has vector columns, shown where they are or copied row by row", "[adapt]") {
    auto const nan = std::numeric_limits<double>::quiet_NaN();
    theirs::elastic_table jobs{
        {2, 7}, {{{0, 1, 1.5}, {0, 1, 1.9}}}, {{{3, 2, 1}, {nan, 5, 4}}}, {{{16, 32}, {64, 128}}}};
    row_leak_check policy;
    REQUIRE(allocate(policy, adapted_table(jobs), machine));
    CHECK(policy.speedup == std::vector<double>{0, 1, 1.5, 0, 1, 1.9});
    CHECK(policy.window == std::vector<double>{3, 2, 1, 0, 5, 4});
    CHECK(policy.batch == std::vector<std::int64_t>{16, 32, 64, 128});
    CHECK(policy.shown == jobs.speedup.front().data());

    jobs.id = {7, 2};
    REQUIRE(allocate(policy, adapted_table(jobs), machine));
    CHECK(policy.speedup == std::vector<double>{0, 1, 1.9, 0, 1, 1.5});
    CHECK(policy.window == std::vector<double>{0, 5, 4, 3, 2, 1});
    CHECK(policy.batch == std::vector<std::int64_t>{64, 128, 16, 32});
    CHECK(policy.shown != jobs.speedup.front().data());

    jobs.batch.pop_back();
    auto const uneven = allocate(policy, adapted_table(jobs), machine);
    REQUIRE_FALSE(uneven);
    CHECK(uneven.failure().subject == "jobs/batch");
    CHECK(allocate(policy, adapted_table(theirs::elastic_table{}), machine));
}

TEST_CASE("adapted: a loss that is no number yet is 0, and reaches no tier", "[adapt]") {
    auto const nan = std::numeric_limits<float>::quiet_NaN();
    leak_check policy;
    std::vector<theirs::entry> const queue{{7, nan, 4000, 10, 5000, 3, wanted()}};
    REQUIRE(allocate(policy, adapted(queue), machine));
    CHECK(policy.rows == std::vector<leak_check::seen>{{7, 0, 4000, 10, 5000, 0, 2}});
    theirs::table const jobs{{7}, {4000}, {nan}, {5000}};
    REQUIRE(allocate(policy, adapted_table(jobs), machine));
    CHECK(policy.rows == std::vector<leak_check::seen>{{7, 0, 4000, 0, 5000, 0, 0}});
}

TEST_CASE("adapted: a table that is none is refused", "[adapt]") {
    leak_check policy;
    theirs::table jobs{{2, 7}, {2000}, {340.5F, 118}, {6000, 5000}};
    auto const uneven = allocate(policy, adapted_table(jobs), machine);
    REQUIRE_FALSE(uneven);
    CHECK((uneven.failure().code == errc::invalid_value && uneven.failure().subject == "jobs/used.cpu"));
    jobs = {{7, 2, 7}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}};
    CHECK(allocate(policy, adapted_table(jobs), machine).failure().code == errc::already_exists);
    jobs = {};
    CHECK(allocate(policy, adapted_table(jobs), machine));
}

TEST_CASE("adapted: bounds of a table are what the check holds the answer against", "[adapt]") {
    leak_check policy;
    theirs::table const jobs{{2, 700}, {0, 0}, {0, 0}, {100, 100}};
    auto const answer = allocate(policy, adapted_table(jobs), machine);
    REQUIRE(answer);
    CHECK((answer->granted.size() == 1 && answer->rejected.size() == 1));  // 7000 of at most 100
}

namespace {

/// Counts how often it is bound.
struct counted final : any_policy {
    policy_adapter<policies::equal_share> inner;
    int bound = 0;
    [[nodiscard]] meta const& about() const noexcept override { return inner.about(); }
    [[nodiscard]] result<void> bind(std::span<column_info const> schema, limits const& most) noexcept override {
        ++bound;
        return inner.bind(schema, most);
    }
    [[nodiscard]] bool reads(std::string_view column) const noexcept override { return inner.reads(column); }
    [[nodiscard]] status decide(tick_data const& t, grants& out) noexcept override { return inner.decide(t, out); }
};

}  // namespace

TEST_CASE(
    "adapted: a policy chosen at run time answers as a compiled one does, and is bound anew when there are more jobs",
    "[adapt]") {
    counted policy;
    allocation_host host(policy);
    std::vector<theirs::bare> queue{{1}, {2}};
    auto const answer = host.allocate(adapted(queue), machine);
    REQUIRE(answer);
    CHECK((answer->granted.size() == 2 && answer->granted[0].amount() == 4000));
    queue = {{1}, {2}, {3}, {4}};
    CHECK(host.allocate(adapted(queue), machine)->granted[0].amount() == 2000);
    CHECK(policy.bound == 1);  // there was room for twice as many
    queue.push_back({5});
    CHECK(host.allocate(adapted(queue), machine)->granted.size() == 5);
    CHECK(policy.bound == 2);
    queue.clear();
    CHECK(host.allocate(adapted(queue), machine)->granted.empty());
    queue = {{1}, {1}};
    CHECK(host.allocate(adapted(queue), machine).failure().code == errc::already_exists);
}

TEST_CASE("adapted: a column that the jobs do not supply is named when the policy is bound", "[adapt]") {
    policy_adapter<leak_check> policy;
    allocation_host host(policy);
    std::vector<theirs::bare> const queue{{1}};
    auto const refused = host.allocate(adapted(queue), machine);  // every store has the column, and it would be 0
    REQUIRE_FALSE(refused);
    CHECK((refused.failure().code == errc::not_found && refused.failure().subject == "jobs/used.cpu"));
}
