// SPDX-License-Identifier: BSL-1.0
#include "bench/quality.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/error_text.hpp"

namespace ration::bench {
namespace {

constexpr double endless = 1 << 20;      // times the length of a job: it does not end while it is judged
constexpr std::size_t most_slots = 512;  // a batch takes at most 35 slots on one device for each job

/// One policy on one instance.
class attempt {
    std::unique_ptr<any_policy> policy_;
    measured_cluster in_;
    answer_limit limit_;
    trouble& wrong_;
    bool good_ = true;

    [[nodiscard]] static measured_shape shape_of(instance const& of, shared what) {
        bool const cores = what == shared::cores;
        return {.what = what,
                .devices = {cores ? 0 : of.units},
                .cores = cores ? static_cast<double>(of.units) : 0,
                .jobs = of.jobs.size()};
    }

public:
    attempt(std::unique_ptr<any_policy> policy, instance const& of, shared what, double longer, bool limited,
            trouble& wrong)
        : policy_(std::move(policy)), in_(shape_of(of, what), nullptr), limit_(limited), wrong_(wrong) {
        for (auto job : of.jobs) {
            job.length *= longer;
            in_.arrive(job);
        }
        if (auto const bound = in_.bind(*policy_); !bound) {
            good_ = false;
            wrong_.first_lost = std::string_view(program::to_text(bound.failure()));
            ++wrong_.lost;
        }
    }

    /// Asks, and lets a slot pass under the answer. False when there was none.
    [[nodiscard]] bool decide() {
        if (!good_) return false;
        limit_.begin();
        auto const reply = in_.ask(*policy_, [] {}, [] {});
        limit_.end();
        auto const outcome = in_.take(reply);
        wrong_.note(outcome, in_, *policy_);
        return good_ = outcome.reply == status::ok;
    }
    void let_work() {
        in_.pass(slot);
        for (std::size_t row = 0; row < in_.jobs(); ++row) in_.work(row, slot);
    }
    /// How many have come to their end, and are gone.
    [[nodiscard]] std::size_t collect() {
        auto const over = std::make_unique<bool[]>(in_.jobs());
        std::size_t count = 0;
        for (std::size_t row = 0; row < in_.jobs(); ++row)
            count += over[row] = in_.job(row).done >= in_.job(row).length;
        if (count > 0) in_.leave({over.get(), in_.jobs()});
        return count;
    }

    void classify(values& into) const {
        double sum = 0, below = 0, least = std::numeric_limits<double>::infinity();
        for (std::size_t row = 0; row < in_.jobs(); ++row) {
            double const speedup = in_.speed_of(row) / in_.job(row).speed[1];
            sum += speedup;
            below += in_.job(row).tier == 0 ? speedup : 0;
            least = std::min(least, speedup);
        }
        into[0] = sum;
        into[1] = least;
        into[2] = below;
    }
    [[nodiscard]] bool is_over() const noexcept { return in_.jobs() == 0; }
};

void divide(policy_maker const& make, instance const& of, shared what, bool limited, reached& into, values& on) {
    auto policy = make();
    if (policy == nullptr) return;
    attempt tried(std::move(policy), of, what, endless, limited, into.wrong);
    for (int i = 0; i < settling_ticks; ++i) {
        if (i > 0) tried.let_work();
        if (!tried.decide()) return;
    }
    tried.classify(on);
}

void run_batch(policy_maker const& make, instance const& of, shared what, bool limited, reached& into, values& on) {
    auto policy = make();
    if (policy == nullptr) return;
    attempt tried(std::move(policy), of, what, 1, limited, into.wrong);
    std::size_t sum = 0;
    for (std::size_t slots = 1; slots <= most_slots && !tried.is_over(); ++slots) {
        if (!tried.decide()) return;
        tried.let_work();
        sum += slots * tried.collect();
    }
    if (tried.is_over())
        on[static_cast<std::size_t>(objective::completion)] =
            static_cast<double>(sum) / static_cast<double>(of.jobs.size());
}

}  // namespace

void solve(policy_maker const& make, std::span<instance const> all, shared what, bool limited, reached& into) {
    for (std::size_t i = 0; i < all.size(); ++i) {
        divide(make, all[i], what, limited, into, into.on[i]);
        if (what == shared::devices && into.wrong.lost == 0) run_batch(make, all[i], what, limited, into, into.on[i]);
        if (into.wrong.lost > 0) return;
        ++into.instances;
    }
}

double share_of_best(objective what, double reached, double best) noexcept {
    if (!(best > 0)) return std::numeric_limits<double>::quiet_NaN();
    double const share = what == objective::completion ? (reached > 0 ? best / reached : 0) : reached / best;
    return std::round(share * 1e9) / 1e9;
}

}  // namespace ration::bench
