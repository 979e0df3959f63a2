// SPDX-License-Identifier: BSL-1.0
// The laws of Estimator: kept by the archetype and a small model, and each broken by one made for it.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <ration/state.hpp>
#include <ration/testing/archetypes.hpp>
#include <ration/testing/laws.hpp>

#include "broken.hpp"
#include "support/allocations.hpp"
#include "support/catch.hpp"

using laws::broken;
using ration::columns;
using ration::in;
using ration::out;
using ration::status;
using ration::testing::estimator_laws;
using ration::testing::policy_law_options;

namespace {

template <class Estimator>
[[nodiscard]] ration::result<void> verdict() {
    return estimator_laws([] { return Estimator{}; }, {.allocations = allocations});
}

/// What all estimators of this file have in common.
struct of_steps {
    using estimator_concept = ration::estimator_tag;
    using inputs = columns<in<std::uint64_t, "jobs/step">>;
    using outputs = columns<out<double, "jobs/remaining">>;
    using tick = ration::tick<inputs>;
    using estimates = ration::estimates<outputs>;
    static constexpr ration::meta about{.id = "org.example.of-steps", .version = "1.0.0"};

    static void write(tick const& t, estimates const& to, double add) noexcept {
        for (std::size_t row = 0; row < t.jobs(); ++row)
            to.get<"jobs/remaining">()[row] = add + static_cast<double>(t.get<"jobs/step">()[row]);
    }
};

struct lawful : of_steps {
    void estimate(tick const& t, estimates const& to) noexcept { write(t, to, 1); }
};
struct counts_all_instances : of_steps {
    void estimate(tick const& t, estimates const& to) noexcept {
        static int calls = 0;
        write(t, to, ++calls);
    }
};
struct leaves_rows_as_they_were : of_steps {
    void estimate(tick const& t, estimates const& to) noexcept {
        if (t.jobs() != 1) write(t, to, 1);
    }
};
struct allocates : of_steps {
    std::vector<int> list;
    void estimate(tick const& t, estimates const& to) noexcept {
        if (t.number() == 100) list.assign(1000, 0);
        write(t, to, 1);
    }
};
struct knows_when_it_is_asked_again : of_steps {
    std::uint64_t last = ~std::uint64_t{0};
    void estimate(tick const& t, estimates const& to) noexcept {
        write(t, to, std::exchange(last, t.number()) == t.number());
    }
};
struct leaves_entries_as_they_were {
    using estimator_concept = ration::estimator_tag;
    using inputs = of_steps::inputs;
    using outputs = columns<ration::out_rows<double, "jobs/goodput">>;
    static constexpr ration::meta about{.id = "org.example.entries", .version = "1.0.0"};
    void estimate(ration::tick<inputs> const& t, ration::estimates<outputs> const& to) noexcept {
        auto const rows = to.get<"jobs/goodput">();
        for (std::size_t row = 0; row < t.jobs(); ++row)
            for (std::size_t k = 0; k + 1 < rows.width(); ++k) rows[row][k] = static_cast<double>(k);
    }
};
struct ages : of_steps {
    void estimate(tick const& t, estimates const& to) noexcept { write(t, to, ration::to_seconds(t.now())); }
};

/// Remembers the most steps of all jobs; saves it if `Saves`.
template <bool Saves>
struct remembers : of_steps {
    double most = 0;
    void estimate(tick const& t, estimates const& to) noexcept {
        for (auto const step : t.get<"jobs/step">())
            if (auto const steps = static_cast<double>(step); steps > most) most = steps;
        write(t, to, most);
    }
    [[nodiscard]] std::size_t save(std::span<std::byte> space) const noexcept {
        ration::state_writer to(space);
        if (Saves) to.put(most);
        return to.needed();
    }
    [[nodiscard]] status load(std::span<std::byte const> saved) noexcept {
        ration::state_reader from(saved);
        return !Saves || (from.get(most) && from.finished()) ? status::ok : status::state;
    }
};

struct cannot_prepare : lawful {
    status prepare(ration::limits const&) noexcept { return status::no_memory; }
};

}  // namespace

TEST_CASE("estimators that keep the laws pass", "[laws][estimator]") {
    CHECK(broken(verdict<lawful>()) == "");
    CHECK(broken(verdict<ration::testing::estimator_archetype>()) == "");
    CHECK(broken(verdict<remembers<true>>()) == "");
}

TEST_CASE("each broken law of an estimator is named", "[laws][estimator]") {
    CHECK(broken(verdict<counts_all_instances>()) == "Estimator law 1");
    CHECK(broken(verdict<leaves_rows_as_they_were>()) == "Estimator law 1");
    CHECK(broken(verdict<leaves_entries_as_they_were>()) == "Estimator law 1");
    CHECK(broken(verdict<allocates>()) == "Estimator law 3");
    CHECK(broken(verdict<knows_when_it_is_asked_again>()) == "Estimator law 4");
    CHECK(broken(verdict<remembers<false>>()) == "Estimator law 5");
    CHECK(broken(verdict<ages>()) == "Estimator law 6");
}

TEST_CASE("a broken law of an estimator is shown with the tick", "[laws][estimator]") {
    auto const aged = verdict<ages>();
    CHECK(std::string_view(aged.failure().subject).starts_with("they differ an hour after tick "));
}

TEST_CASE("an estimator that cannot be tried breaks no law", "[laws][estimator]") {
    CHECK(broken(verdict<cannot_prepare>()) == "prepare estimator");
}
