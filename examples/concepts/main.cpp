// SPDX-License-Identifier: BSL-1.0
// The smallest model of each concept (docs/concepts.md), and the laws run on each of them.
#include <array>
#include <iostream>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include <ration/testing/laws.hpp>

// [resource]
struct seats {
    using resource_concept = ration::resource_tag;
    static constexpr std::string_view name = "licence.seats", unit = "seats";
    static constexpr ration::divisibility granularity = ration::divisibility::atomic;
};
static_assert(ration::Resource<seats>);
// [resource]

// [target]
struct below {
    double threshold;

    using target_concept = ration::target_tag;
    [[nodiscard]] std::string_view metric() const noexcept { return "loss"; }
    [[nodiscard]] std::uint32_t tiers() const noexcept { return 1; }
    // NaN is below nothing
    [[nodiscard]] std::uint32_t reached(double value) const noexcept { return value <= threshold ? 1 : 0; }
};
static_assert(ration::Target<below>);
// [target]

// [job]
struct training {
    std::uint64_t number, step;
    double loss;

    using job_concept = ration::job_tag;
    [[nodiscard]] ration::job_id id() const noexcept { return {number}; }
    [[nodiscard]] ration::bounds bounds_of(ration::resource_id) const noexcept { return {}; }  // anything
    [[nodiscard]] ration::job_progress progress() const noexcept { return {.step = step, .value = loss}; }
    [[nodiscard]] below target() const noexcept { return {.threshold = 0.5}; }
};
static_assert(ration::Job<training>);
// [job]

// [policy]
struct leave_it {
    using policy_concept = ration::policy_tag;
    static constexpr ration::meta about{.id = "org.example.leave-it", .version = "1.0.0"};
    using inputs = ration::columns<>;

    // What is not named stays
    ration::status decide(ration::tick<inputs> const&, ration::grants&) noexcept { return ration::status::ok; }
};
static_assert(ration::Policy<leave_it>);
// [policy]

// [estimator]
struct steps_left {
    using estimator_concept = ration::estimator_tag;
    static constexpr ration::meta about{.id = "org.example.steps-left", .version = "1.0.0"};
    using inputs = ration::columns<ration::in<std::uint64_t, "jobs/step">>;
    using outputs = ration::columns<ration::out<double, "jobs/remaining">>;

    void estimate(ration::tick<inputs> const& t, ration::estimates<outputs> const& to) noexcept {
        for (std::size_t job = 0; job < t.jobs(); ++job)
            to.get<"jobs/remaining">()[job] = 1000.0 - static_cast<double>(t.get<"jobs/step">()[job]);
    }
};
static_assert(ration::Estimator<steps_left>);
// [estimator]

class notebook {
    std::map<ration::job_id, std::int64_t> cores_;

public:
    using backend_concept = ration::backend_tag;
    struct operation {
        ration::job_id job;
        std::int64_t old_value, new_value;
    };
    explicit notebook(ration::job_id job) { cores_[job] = ration::unlimited; }

    [[nodiscard]] std::span<ration::resource_id const> resources() const noexcept {
        static constexpr ration::resource_id all[] = {ration::resource_id::cpu};
        return all;
    }
    ration::result<ration::observation> observe(ration::job_id job) noexcept {
        if (!cores_.contains(job)) return stranger("observe");
        return ration::observation{};
    }
    ration::result<void> plan(ration::setting const& wanted, ration::plan<operation>& out) noexcept {
        auto const found = cores_.find(wanted.job);
        if (found == cores_.end()) return stranger("plan");
        if (found->second != wanted.amount) out.push_back({wanted.job, found->second, wanted.amount});
        return {};
    }
    ration::result<void> apply(operation const& op) noexcept { return write(op.job, op.new_value); }
    ration::result<void> undo(operation const& op) noexcept { return write(op.job, op.old_value); }
    ration::result<void> verify(operation const& op) noexcept {
        if (cores_[op.job] == op.new_value) return {};
        return ration::error{.code = ration::errc::unverified, .operation = "verify"};
    }
    [[nodiscard]] ration::operation_text describe(operation const& op) noexcept {
        return {.job = op.job,
                .resource = ration::resource_id::cpu,
                .when = ration::timing::live,
                .subject = "a note",
                .old_value = {},
                .new_value = {}};
    }

private:
    ration::result<void> write(ration::job_id job, std::int64_t amount) noexcept {
        cores_[job] = amount;
        return ration::result<void>{};
    }
    [[nodiscard]] static ration::error stranger(char const* what) noexcept {
        return {.code = ration::errc::not_found, .operation = what, .subject = "a job that was never added"};
    }
};
static_assert(ration::Backend<notebook>);

namespace {

int broken = 0;

void report(char const* concept_name, ration::result<void> const& kept) {
    std::cout << concept_name << ": ";
    if (kept)
        std::cout << "its laws hold\n";
    else {
        std::cout << kept.failure().operation << ": " << kept.failure().subject.view() << '\n';
        ++broken;
    }
}

}  // namespace

int main() {
    ration::resource_info const resources[] = {ration::info_of<ration::cpu>(), ration::info_of<seats>()};
    report("Resource", ration::testing::resource_laws(resources));

    double const losses[] = {2.0, 0.5, 0.49, 0.0};
    report("Target", ration::testing::target_laws(below{.threshold = 0.5}, losses));

    training jobs[] = {{.number = 1, .step = 0, .loss = 2.0}, {.number = 2, .step = 7, .loss = 0.4}};
    report("Job", ration::testing::job_laws(std::span<training const>(jobs)));
    report("Job", ration::testing::job_laws_over_time(jobs[0], [](training& job) { ++job.step; }));

    report("Policy", ration::testing::policy_laws([] { return leave_it{}; }));

    report("Estimator", ration::testing::estimator_laws([] { return steps_left{}; }));

    notebook book({1});
    ration::setting const settings[] = {{{1}, 0, ration::resource_id::cpu, 500},
                                        {{1}, 0, ration::resource_id::cpu, 900}};
    report("Backend", ration::testing::backend_laws(book, {99}, settings));
    return broken;
}
