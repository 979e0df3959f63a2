// SPDX-License-Identifier: BSL-1.0
// An estimator from a file, in a worker and in this process: its columns, and what a wrong one costs.
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>

#include <ration/host/estimator_stage.hpp>
#include <ration/host/sanitizer.hpp>
#include <ration/plugin/host/plugin_estimator.hpp>

#include "support/catch.hpp"
#include "unit/host.hpp"

using namespace ration;
using plugin::isolation;
using unit::must;

namespace {

[[nodiscard]] std::string file_of(std::string const& name) { return RATION_TEST_PLUGINS "/" + name + ".so"; }

[[nodiscard]] plugin::open_options started_in(isolation where, std::string_view config = {}) {
    plugin::open_options o{
        .where = where, .config = config, .worker = {.program = {RATION_TEST_WORKER, {}}}, .strikes = {}};
    o.worker.first_pause = milliseconds(1);
    o.worker.deadline = seconds(2);
    return o;
}

/// Three jobs with 10, 20 and 30 steps.
struct estimated {
    unit::host on{3};
    std::unique_ptr<plugin::plugin_estimator> estimator;
    std::uint64_t ticks = 0;

    estimated(std::string const& name, plugin::open_options const& with) {
        for (std::size_t row = 0; row < 3; ++row) on.store[on.columns.step][row] = 10 * (row + 1);
        auto opened = plugin::open_estimator(file_of(name), with);
        if (!opened) FAIL(std::string(opened.failure().subject.view()) << ": " << opened.failure().remedy);
        estimator = std::move(opened).value();
        must(estimator->bind(on.store, {.jobs = 3, .nodes = 1}));
    }
    void tick() {
        estimator->estimate({.number = ticks++,
                             .seed = 1,
                             .now = seconds(static_cast<std::int64_t>(ticks)),
                             .budget = milliseconds(50),
                             .data = on.store.view()},
                            on.store);
    }
    template <class T>
    [[nodiscard]] T value(char const* column, std::size_t row) {
        return on.store[must(on.store.find<T>(column))][row];
    }
    [[nodiscard]] double remaining(std::size_t row) { return value<double>("jobs/remaining", row); }
    [[nodiscard]] bool is_unknown() {
        return std::isnan(remaining(0)) && std::isnan(remaining(1)) && std::isnan(remaining(2)) &&
               value<std::uint32_t>("jobs/mood", 0) == 0 && value<std::int64_t>("jobs/wish", 0) == 0;
    }
    [[nodiscard]] std::string fault() { return estimator->plugin().last_fault().what.c_str(); }
};

struct moody {
    using estimator_concept = estimator_tag;
    using inputs = columns<in<std::uint64_t, "jobs/id">>;
    using outputs = columns<out<double, "jobs/remaining">, out<std::uint32_t, "jobs/mood">>;
    static constexpr meta about{.id = "org.example.moody", .version = "1.0.0"};
    void estimate(tick<inputs> const&, estimates<outputs> const&) noexcept {}
};

[[nodiscard]] std::string refusal_of(auto const& opened) {
    REQUIRE_FALSE(opened);
    return opened.failure().remedy;
}

}  // namespace

TEST_CASE("plugin estimator: its columns are those of the manifest, with a value for each job", "[plugin]") {
    auto const where = GENERATE(isolation::worker, isolation::in_process);
    estimated guess("guess", started_in(where));
    CHECK(guess.estimator->about().id == "org.example.guess");
    REQUIRE(guess.estimator->inputs().size() == 1);
    CHECK(guess.estimator->inputs()[0].name == "jobs/step");
    REQUIRE(guess.estimator->outputs().size() == 3);
    CHECK(guess.estimator->outputs()[0].name == "jobs/mood");
    for (std::uint32_t tick = 1; tick <= 3; ++tick) {
        guess.tick();
        for (std::size_t row = 0; row < 3; ++row) {
            CHECK(guess.remaining(row) == 20.0 * static_cast<double>(row + 1));
            CHECK(guess.value<std::uint32_t>("jobs/mood", row) == tick);
            CHECK(guess.value<std::int64_t>("jobs/wish", row) == 5);
        }
    }
}

TEST_CASE("plugin estimator: an exported class has its parameters, and a job that has come or left", "[plugin]") {
    auto const where = GENERATE(isolation::worker, isolation::in_process);
    estimated left("steps_left", started_in(where, R"({"total": 50})"));
    left.tick();
    CHECK(left.remaining(1) == 30);
    left.on.store.erase_row(table_id::jobs, 0);
    left.tick();
    CHECK(left.remaining(0) == 30);
    CHECK(left.remaining(1) == 20);
    CHECK(plugin::open_estimator(file_of("steps_left"), started_in(where, R"({"total": -1})"))
              .failure()
              .subject.view()
              .find("total") != std::string_view::npos);
}

TEST_CASE("plugin estimator: a wrong value makes the whole answer unknown, and counts as a strike", "[plugin]") {
    auto const where = GENERATE(isolation::worker, isolation::in_process);
    auto const [action, sentence] = GENERATE(table<char const*, char const*>({
        {"infinite@2", "computes a value for jobs/remaining that is infinite"},
        {"negative@2", "computes a value for jobs/remaining that is below 0"},
        {"negative wish@2", "computes a value for jobs/wish that is below 0"},
        {"throw@2", "threw an exception"},
        {"fail@2", "reports an internal fault"},
        {"strange code@2", "returned a code that does not exist"},
    }));
    estimated guess("guess", started_in(where, action));
    guess.tick();
    CHECK(guess.remaining(0) == 20);
    CHECK(guess.fault().empty());
    guess.tick();
    CHECK(guess.is_unknown());
    CHECK(guess.fault() == sentence);
    CHECK(guess.estimator->plugin().strikes() == 1);
    guess.tick();
    CHECK(guess.remaining(0) == 20);
}

TEST_CASE("plugin estimator: NaN is an unknown value of one job", "[plugin]") {
    estimated guess("guess", started_in(isolation::in_process, "unknown@1"));
    guess.tick();
    CHECK(std::isnan(guess.remaining(0)));
    CHECK(guess.remaining(1) == 40);
    CHECK(guess.fault().empty());
}

TEST_CASE("plugin estimator: one that dies or hangs in its worker costs a tick, and strikes end it", "[plugin]") {
    auto const [action, sentence] = GENERATE(table<char const*, char const*>({
        {"crash@3", "its worker was killed by signal SIGSEGV"},
        {"exit@3", "its worker ended by itself with exit code 0"},
        {"too far@3", "its worker was killed by signal SIGSEGV"},
        {"hang@3", "did not answer before its deadline"},
    }));
    auto with = started_in(isolation::worker, action);
    with.worker.deadline = milliseconds(500);
    with.strikes.most = 1;
    estimated guess("guess", with);
    guess.tick();
    guess.tick();
    CHECK(guess.value<std::uint32_t>("jobs/mood", 0) == 2);
    guess.tick();
    CHECK(guess.is_unknown());
    // A sanitizer handles the signal itself, and ends the process
    bool const is_handled = RATION_SANITIZED != 0 && guess.fault() == "its worker ended by itself with exit code 1";
    CHECK((is_handled || guess.fault() == sentence));
    CHECK(guess.estimator->plugin().quarantined());
    guess.tick();
    CHECK(guess.is_unknown());
}

TEST_CASE("plugin estimator: one that died comes back with its state", "[plugin]") {
    estimated guess("guess", started_in(isolation::worker, "crash in tick@3"));
    guess.tick();
    guess.tick();
    ::usleep(300'000);  // the state is saved in a pause
    guess.tick();
    CHECK(guess.is_unknown());
    for (int i = 0; i < 2000 && guess.is_unknown(); ++i) {
        ::usleep(5'000);
        guess.tick();
    }
    CHECK(guess.remaining(2) == 60);
    CHECK(guess.value<std::uint32_t>("jobs/mood", 0) == 3);
}

TEST_CASE("plugin estimator: a file is opened as what its manifest says", "[plugin]") {
    auto const where = GENERATE(isolation::worker, isolation::in_process);
    CHECK(refusal_of(plugin::open(file_of("guess"), started_in(where))) == "it is an estimator: name a policy");
    CHECK(refusal_of(plugin::open_estimator(file_of("echo"), started_in(where))) ==
          "it computes no column: name a plugin that ends with RATION_EXPORT_ESTIMATOR");
    auto const refused = plugin::open_estimator(file_of("guess"), started_in(where, "refuse"));
    REQUIRE_FALSE(refused);
    CHECK(std::string(refused.failure().subject.view()) == "it never wants to");
}

TEST_CASE("plugin estimator: a stage refuses one that computes a column which the host fills", "[plugin]") {
    struct reads_mood final : any_policy {
        meta identity{.id = "org.example.mood", .version = "1.0.0"};
        [[nodiscard]] meta const& about() const noexcept override { return identity; }
        [[nodiscard]] bool reads(std::string_view column) const noexcept override { return column == "jobs/mood"; }
        [[nodiscard]] result<void> bind(std::span<column_info const>, limits const&) noexcept override { return {}; }
        [[nodiscard]] status decide(tick_data const&, grants&) noexcept override { return status::ok; }
    };
    reads_mood policy;
    reads_mood fallback;
    estimated guess("guess", started_in(isolation::in_process));
    unit::host fills(3);  // jobs/remaining
    std::array<any_estimator*, 1> const all{guess.estimator.get()};
    estimator_stage stage({.available = all});
    auto const bound = stage.bind(fills.store, policy, fallback, {.jobs = 3, .nodes = 1});
    REQUIRE_FALSE(bound);
    CHECK(bound.failure().subject.view() == "jobs/remaining");
    constexpr std::string_view open[] = {"jobs/remaining"};
    estimator_stage leaves_open({.available = all, .unfilled = open});
    CHECK(leaves_open.bind(fills.store, policy, fallback, {.jobs = 3, .nodes = 1}));
}

TEST_CASE("plugin estimator: the manifest of a class lists what it computes; other lines are refused", "[manifest]") {
    auto m = plugin::manifest_of<moody>();
    CHECK(std::string(m.computes) == "jobs/remaining f64\njobs/mood u32\n");
    CHECK(plugin::is_estimator_file(m));
    CHECK(plugin::acceptable(m));
    for (char const* const wrong : {"jobs/remaining f64[]\n", "nodes/heat f64\n", "jobs/remaining", "\n"}) {
        std::strcpy(m.computes, wrong);
        CHECK(std::string_view(plugin::acceptable(m).failure().operation) == "read manifest: computes");
    }
    std::memset(m.computes, 'x', sizeof m.computes);
    CHECK(plugin::acceptable(m).failure().subject.view() == "text");
}
