// SPDX-License-Identifier: BSL-1.0
// The loop reports what it should, a seed repeats itself to the bit, and every kind of model really learns.
#include "training.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "checkpoint.hpp"
#include "fashion_mnist.hpp"
#include "recipes.hpp"
#include "serve/temporary_folder.hpp"
#include "support/catch.hpp"

using namespace trainers;

namespace {

using report = std::pair<std::uint64_t, double>;

struct record {
    outcome how{};
    std::vector<report> steps, reports;
};

/// Stops in front of step `stop_before`, where that is not 0.
record watch(model<float>& trained, double rate, schedule plan, std::function<batch<float> const&()> next,
             std::uint64_t stop_before = 0) {
    record seen;
    seen.how = train(trained, rate, plan,
                     {.next_batch = std::move(next),
                      .stop_asked = [&] { return stop_before != 0 && seen.steps.size() + 1 == stop_before; },
                      .at_step = [&](std::uint64_t step, double loss) { seen.steps.emplace_back(step, loss); },
                      .at_report = [&](std::uint64_t step, double loss) { seen.reports.emplace_back(step, loss); }});
    return seen;
}

/// Returns the losses that it was given, one per step.
class scripted final : public model<float> {
    std::vector<double> losses_;
    std::size_t message_ = 0;

public:
    explicit scripted(std::vector<double> losses) : losses_(std::move(losses)) {}

    double learn(batch<float> const&) override { return losses_.at(message_++); }
};

record watch_script(std::vector<double> losses, std::uint64_t report_every, std::uint64_t stop_before = 0) {
    batch<float> const nothing{};
    schedule const plan{losses.size(), report_every};
    scripted trained(std::move(losses));
    return watch(trained, 0.1, plan, [&]() -> batch<float> const& { return nothing; }, stop_before);
}

/// Ten classes, each a separate pattern under noise.
fashion_mnist patterns(std::size_t count) {
    rng random(5);
    std::vector<double> pattern(fashion_mnist::classes * fashion_mnist::pixels);
    for (double& x : pattern) x = random.between(0, 150);
    fashion_mnist made;
    for (std::size_t i = 0; i < count; ++i) {
        made.labels.push_back(static_cast<std::uint8_t>(i % fashion_mnist::classes));
        for (std::size_t p = 0; p < fashion_mnist::pixels; ++p)
            made.images.push_back(static_cast<std::uint8_t>(pattern[made.labels.back() * fashion_mnist::pixels + p] +
                                                            random.between(0, 100)));
    }
    return made;
}

/// Where a training begins and stops.
struct breaks {
    checkpoint const* file = nullptr;  ///< from which it continues, if that has one
    std::uint64_t save_after = 0;      ///< the step after which it saves and stops; 0: none
};

record watch_recipe(char const* name, std::uint64_t seed, std::uint64_t steps, breaks const& at = {}) {
    static fashion_mnist const data = patterns(200);
    recipe const& chosen = *find_recipe(name);
    rng random(seed);
    auto const trained = chosen.build(random);
    batch_source source(data, 16, trained->noise_columns(), rng(seed + 1));
    record seen;
    auto const resume = [&](adam<float>& optimiser) {
        std::uint64_t const before = at.file != nullptr && at.save_after == 0 ? at.file->load(optimiser) : 0;
        for (std::uint64_t i = 0; i < before; ++i) static_cast<void>(source.next());
        return before;
    };
    seen.how = train(
        *trained, chosen.rate, {steps, 10},
        {.next_batch = [&]() -> batch<float> const& { return source.next(); },
         .stop_asked = [] { return false; },
         .at_step = [&](std::uint64_t step, double loss) { seen.steps.emplace_back(step, loss); },
         .at_report = [&](std::uint64_t step, double loss) { seen.reports.emplace_back(step, loss); },
         .resume = resume,
         .obey = [&](std::uint64_t step,
                     adam<float>& optimiser) { return step == at.save_after && at.file->save(step, optimiser); }});
    return seen;
}

}  // namespace

TEST_CASE("each report is the mean of the steps since the one before; the last step always reports") {
    auto const seen = watch_script({1, 2, 6, 4, 5, 9, 11}, 3);
    CHECK(seen.how == outcome::done);
    CHECK(seen.reports == std::vector<report>{{3, 3.0}, {6, 6.0}, {7, 11.0}});
    CHECK(seen.steps == std::vector<report>{{1, 1}, {2, 2}, {3, 6}, {4, 4}, {5, 5}, {6, 9}, {7, 11}});
}

TEST_CASE("a stop is obeyed in front of the next step") {
    auto const seen = watch_script({1, 2, 3, 4}, 2, 4);
    CHECK(seen.how == outcome::stopped);
    CHECK(seen.steps.back() == report{3, 3.0});
    CHECK(watch_script({1, 2}, 1, 1).steps.empty());
}

TEST_CASE("a loss that is not finite is reported and ends the training") {
    for (double const bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
        auto const seen = watch_script({1, bad, 3, 4}, 100);
        CHECK(seen.how == outcome::diverged);
        CHECK(seen.steps.size() == 2);
        REQUIRE(seen.reports.size() == 1);
        CHECK(!std::isfinite(seen.reports[0].second));
    }
}

TEST_CASE("Adam's first steps are those of its paper") {
    parameter<double> p(1, 2);
    adam<double> optimiser({&p}, 0.1);
    p.gradient.flat()[0] = 3;
    p.gradient.flat()[1] = -0.01;
    optimiser.step();  // the first step's length is the rate, whatever the gradient's
    CHECK(p.value.flat()[0] == Catch::Approx(-0.1));
    CHECK(p.value.flat()[1] == Catch::Approx(0.1).epsilon(1e-5));
    double const before = p.value.flat()[0];
    p.gradient.flat()[0] = -1;
    optimiser.step();
    double const first = (0.9 * 0.1 * 3 - 0.1) / (1 - 0.81), second = (0.999 * 0.001 * 9 + 0.001) / (1 - 0.999 * 0.999);
    CHECK(p.value.flat()[0] == Catch::Approx(before - 0.1 * first / (std::sqrt(second) + 1e-8)).epsilon(1e-12));
}

TEST_CASE("a training that continues from its checkpoint has the losses of one without a break") {
    temporary_folder const folder;
    checkpoint const file(folder.path);
    for (auto const& r : recipes()) {
        INFO(r.name);
        auto const whole = watch_recipe(r.name.data(), 1, 12);
        auto const first = watch_recipe(r.name.data(), 1, 12, {.file = &file, .save_after = 5});
        CHECK((first.how == outcome::stopped && first.steps.size() == 5));
        auto const rest = watch_recipe(r.name.data(), 1, 12, {.file = &file});
        CHECK(rest.how == outcome::done);
        CHECK(rest.steps == std::vector<report>(whole.steps.begin() + 5, whole.steps.end()));
    }
}

TEST_CASE("a checkpoint of another model is not loaded") {
    temporary_folder const folder;
    checkpoint const file(folder.path);
    static_cast<void>(watch_recipe("mlp", 1, 12, {.file = &file, .save_after = 5}));
    CHECK(watch_recipe("softmax", 1, 12, {.file = &file}).steps == watch_recipe("softmax", 1, 12).steps);
}

TEST_CASE("a seed gives the same losses again, another seed gives others") {
    for (auto const& r : recipes()) {
        auto const once = watch_recipe(r.name.data(), 1, 12), again = watch_recipe(r.name.data(), 1, 12);
        INFO(r.name);
        CHECK(once.steps == again.steps);
        CHECK(once.steps != watch_recipe(r.name.data(), 2, 12).steps);
    }
}

TEST_CASE("every kind of model learns ten patterns") {
    struct expectation {
        char const* name;
        // Chance is ln 10 = 2.3; the mean of all images, without a code, is 539 to the vae
        double at_first_least, at_last_most;
    };
    auto const e = GENERATE(expectation{"softmax", 2, 0.7}, expectation{"mlp", 1.0, 0.1}, expectation{"vae", 539, 525},
                            expectation{"rnn", 2, 0.1});
    auto const seen = watch_recipe(e.name, 3, 200);
    INFO(e.name << ": " << seen.reports.front().second << " to " << seen.reports.back().second);
    CHECK(seen.reports.front().second > e.at_first_least);
    CHECK(seen.reports.back().second < e.at_last_most);
}

TEST_CASE("batches are drawn from all images, each with its own label") {
    auto data = patterns(50);
    for (std::size_t i = 0; i < 50; ++i) data.images[i * fashion_mnist::pixels] = data.labels[i] * 10;
    batch_source source(data, 500, 3, rng(1));
    auto const& drawn = source.next();
    std::vector<int> seen(10);
    for (std::size_t i = 0; i < 500; ++i) {
        CHECK(drawn.images.view().row(i)[0] == Catch::Approx(drawn.labels[i] * 10 / 255.0));
        ++seen[drawn.labels[i]];
    }
    CHECK(*std::ranges::min_element(seen) > 20);
    CHECK(*std::ranges::max_element(drawn.images.flat()) <= 1);
    double const mean = std::accumulate(drawn.noise.flat().begin(), drawn.noise.flat().end(), 0.0) / 1500;
    double variance = 0;
    for (double const x : drawn.noise.flat()) variance += (x - mean) * (x - mean) / 1500;
    CHECK(std::abs(mean) < 0.1);
    CHECK(variance == Catch::Approx(1).margin(0.15));
}

TEST_CASE("only the promised names are recipes") {
    CHECK(recipes().size() == 4);
    CHECK(find_recipe("lstm") == nullptr);
    CHECK(find_recipe("") == nullptr);
}
