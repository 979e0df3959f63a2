// SPDX-License-Identifier: BSL-1.0
// Estimators in the engine: which of them run, in which order, and what a policy is shown.
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include <ration/host/estimator_stage.hpp>

#include "rig.hpp"
#include "support/catch.hpp"

using namespace unit;
using ration::any_estimator;
using ration::columns;
using ration::errc;
using ration::estimator_adapter;
using ration::estimator_supply;
using ration::fixed_string;
using ration::in;
using ration::out;

namespace {

constexpr std::string_view remaining = "jobs/remaining";

/// Writes `Output` = `Input` + 1.
template <fixed_string Input, fixed_string Output>
struct next_of {
    using estimator_concept = ration::estimator_tag;
    using inputs = columns<in<double, Input>>;
    using outputs = columns<out<double, Output>>;
    static constexpr ration::meta about{.id = "org.example.next-of", .version = "1.0.0"};
    void estimate(ration::tick<inputs> const& t, ration::estimates<outputs> const& to) noexcept {
        for (std::size_t row = 0; row < t.jobs(); ++row)
            to.template get<Output>()[row] = t.template get<Input>()[row] + 1;
    }
};

/// Reads the columns of a list, and shows the first value of one.
class reader final : public ration::any_policy {
    std::vector<std::string_view> names_;
    ration::column_info shown_;

public:
    double value = 0;

    explicit reader(std::vector<std::string_view> names) : names_(std::move(names)) {}
    [[nodiscard]] ration::meta const& about() const noexcept override {
        static constexpr ration::meta m{.id = "org.example.reader", .version = "1.0.0"};
        return m;
    }
    [[nodiscard]] ration::result<void> bind(std::span<ration::column_info const> schema,
                                            ration::limits const&) noexcept override {
        for (auto const name : names_) {
            auto const found = ration::bind_column(schema, {name, ration::column_type::f64});
            if (!found) return found.failure();
            shown_ = *found;
        }
        return {};
    }
    [[nodiscard]] bool reads(std::string_view name) const noexcept override {
        return std::ranges::find(names_, name) != names_.end();
    }
    [[nodiscard]] ration::status decide(ration::tick_data const& t, ration::grants&) noexcept override {
        value = static_cast<double const*>(t.data[shown_.table].slot[shown_.slot])[0];
        return ration::status::ok;
    }
};

/// An engine with one job whose loss is 5.
struct estimating {
    host on{1};
    ration::fake::backend backend{{resource_id::cpu}};
    reader policy, fallback{{}};
    ration::estimator_stage stage;
    ration::engine<ration::fake::backend> engine;

    estimating(std::vector<std::string_view> reads, estimator_supply const& estimators)
        : policy(std::move(reads)), stage(estimators),
          engine(backend, policy, fallback, on.store, on.columns, ration::standard_resources, {.estimates = &stage}) {
        backend.add(on.id(0));
        on.store[on.columns.loss][0] = 5;
    }
    [[nodiscard]] ration::result<void> bind() { return engine.bind({.jobs = 1, .nodes = 1}); }
    [[nodiscard]] double shown() {
        static_cast<void>(engine.tick({}));
        return policy.value;
    }
};

}  // namespace

TEST_CASE("estimators: a column that the host leaves open is computed before each decision", "[estimator]") {
    estimator_adapter<next_of<"jobs/loss", "jobs/remaining">> next;
    std::array<any_estimator*, 1> const all{&next};
    estimating e({remaining}, {.available = all, .unfilled = {&remaining, 1}});
    must(e.bind());
    CHECK(e.shown() == 6);
    e.on.store[e.on.columns.loss][0] = 7;
    CHECK(e.shown() == 8);
}

TEST_CASE("estimators: what the host fills stays, and what no policy reads is not computed", "[estimator]") {
    estimator_adapter<next_of<"jobs/loss", "jobs/remaining">> next;
    std::array<any_estimator*, 1> const all{&next};
    estimating fills({remaining}, {.available = all}),
        unread({"jobs/loss"}, {.available = all, .unfilled = {&remaining, 1}});
    for (auto* const e : {&fills, &unread}) {
        e->on.store[e->on.columns.remaining][0] = 40;
        must(e->bind());
        static_cast<void>(e->shown());
        CHECK(e->on.store[e->on.columns.remaining][0] == 40);
    }
}

TEST_CASE("estimators: one that reads another's column runs after it, whatever the order of the list", "[estimator]") {
    estimator_adapter<next_of<"jobs/total_steps", "jobs/remaining">> last;
    estimator_adapter<next_of<"jobs/mood", "jobs/total_steps">> second;
    estimator_adapter<next_of<"jobs/loss", "jobs/mood">> first;
    std::array<any_estimator*, 3> const all{&last, &first, &second};
    estimating e({remaining}, {.available = all, .unfilled = {&remaining, 1}});
    must(e.bind());
    CHECK(e.shown() == 8);
    must(e.engine.bind_estimators());  // the columns that are there by now are still the estimators'
    CHECK(e.shown() == 8);
}

TEST_CASE("estimators: the first one of a column counts", "[estimator]") {
    estimator_adapter<next_of<"jobs/loss", "jobs/remaining">> loss;
    estimator_adapter<next_of<"jobs/measured_steps_per_second", "jobs/remaining">> speed;
    std::array<any_estimator*, 2> const all{&loss, &speed};
    estimating e({remaining}, {.available = all, .unfilled = {&remaining, 1}});
    must(e.bind());
    CHECK(e.shown() == 6);
}

TEST_CASE("estimators: a cycle, and a column without a source, are refused by name", "[estimator]") {
    estimator_adapter<next_of<"jobs/mood", "jobs/remaining">> a;
    estimator_adapter<next_of<"jobs/remaining", "jobs/mood">> b;
    std::array<any_estimator*, 2> const cycle{&a, &b};
    estimating both({remaining}, {.available = cycle, .unfilled = {&remaining, 1}}),
        half({remaining}, {.available = {cycle.data(), 1}, .unfilled = {&remaining, 1}}),
        none({remaining}, {.unfilled = {&remaining, 1}});
    auto const cyclic = both.bind(), lacks_input = half.bind(), lacks_all = none.bind();
    REQUIRE_FALSE(cyclic);
    CHECK(cyclic.failure().code == errc::conflict);
    CHECK(cyclic.failure().subject == remaining);
    CHECK(cyclic.failure().remedy ==
          std::string_view("its inputs are computed from it: fill one of the columns in the host"));
    REQUIRE_FALSE(lacks_input);
    CHECK(lacks_input.failure().code == errc::not_found);
    CHECK(lacks_input.failure().subject == "jobs/mood");
    REQUIRE_FALSE(lacks_all);
    CHECK(lacks_all.failure().code == errc::not_found);
    CHECK(lacks_all.failure().subject == remaining);
    CHECK(
        std::string_view(lacks_all.failure().remedy) ==
        "this host does not fill the column: choose a policy that does without, or add an estimator that computes it");
}

TEST_CASE("estimators: a column that the store omits is refused", "[estimator]") {
    estimator_adapter<next_of<"jobs/loss", "jobs/mood">> mood;
    std::array<any_estimator*, 1> const all{&mood};
    estimating e({"jobs/mood"}, {.available = all});
    must(e.on.store.omit("jobs/mood", ration::column_type::f64));
    auto const bound = e.bind();
    REQUIRE_FALSE(bound);
    CHECK(bound.failure().code == errc::conflict);
    CHECK(bound.failure().subject == "jobs/mood");
}
