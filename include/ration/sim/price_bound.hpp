// SPDX-License-Identifier: BSL-1.0
/// A lower bound on the sum of completion times that counts the limited speed of each job.
///
/// Used by bounds.hpp, for up to some thousands of jobs.
///
/// Let p(t) >= 0 be any price of a device-second. Add the price of the held devices to the completion time of each job.
/// A schedule never holds more than all C devices. So its sum of completion times is at least the sum of these terms,
/// less C times the integral of p. A job's term is at least that of the cheapest schedule of this job alone. This is a
/// Lagrangian relaxation (M. L. Fisher, "The Lagrangian relaxation method for solving integer programming problems",
/// 1981).
///
/// The cheapest schedule of a job. Give each step of the job a weight. Let f(k) be the most weight that it can gain in
/// a second on k devices, at any point of its length. Let v be any value of a unit of weight, and h(v, p) the maximum
/// of v f(k) - p k over k, at least 0. Then k devices cost p k >= v f(k) - h(v, p) a second. Let a job of weight W be
/// submitted at r and end at T. It costs at least T - r + v W - (integral of h(v, p(t)) from r to T). The largest such
/// value over some v counts, and the least over all T. Prices are constant in each cell of time. There the value is
/// linear in T, so that the ends of the cell suffice.
///
/// All prices, weights and values give bounds; a subgradient method looks for prices that give a high one.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include <ration/sim/speed_curve.hpp>

namespace ration::sim {

/// The jobs of one kind of resource, as `price_bound` reads them. Jobs whose segments have the same curves, up to a
/// factor, share a kind.
class priced_jobs {
public:
    struct job {
        double submitted = 0;         ///< seconds, with the restart cost at its start
        std::size_t kind = 0;         ///< index in `kinds()`
        std::vector<double> seconds;  ///< by curve of its kind: the least time of the segments with this curve
    };

    /// Starts a job. O(1).
    void begin(double submitted) {
        next_ = {.submitted = submitted, .kind = 0, .seconds = {}};
        curves_.clear();
    }
    /// Adds a segment to the job that was started. O(curves of the job).
    void add_segment(double steps, speed_curve curve) {
        double const highest = curve.highest();
        curve.scale(1 / highest);
        auto const found = std::find(curves_.begin(), curves_.end(), curve);
        auto const at = static_cast<std::size_t>(found - curves_.begin());
        if (found == curves_.end()) {
            curves_.push_back(std::move(curve));
            next_.seconds.push_back(0);
        }
        next_.seconds[at] += steps / highest;
    }
    /// Adds the job that was started; a job without segments has nothing to do. O(log kinds).
    void end() {
        if (curves_.empty()) return;
        auto const [found, is_new] = ids_.try_emplace(curves_, kinds_.size());
        if (is_new) kinds_.push_back(curves_);
        next_.kind = found->second;
        jobs_.push_back(next_);
    }

    [[nodiscard]] std::span<job const> jobs() const noexcept { return jobs_; }
    /// The curves of each kind; their highest speed is 1.
    [[nodiscard]] std::span<std::vector<speed_curve> const> kinds() const noexcept { return kinds_; }

private:
    std::vector<job> jobs_;
    std::vector<std::vector<speed_curve>> kinds_;
    std::map<std::vector<speed_curve>, std::size_t> ids_;
    job next_;
    std::vector<speed_curve> curves_;
};

/// The search for prices. O(rounds x cells x (jobs + kinds)).
class price_bound {
    static constexpr std::size_t levels = 32, views = 6, rounds = 200, most_cells = 256;
    static constexpr std::size_t choice_rounds = 20;                      // from one choice of views to the next
    static constexpr double most_work = 1e8;                              // jobs and values x cells, over all rounds
    static constexpr double longest_stride = 0.06, least_stride = 0.001;  // aimed at: part of the bound
    static constexpr double rounding = 1e-9;                              // more than the errors of all sums
    static constexpr std::size_t patience = 8;  // rounds without a better bound, until the steps become shorter

    /// One choice of weights for the curves of a kind.
    struct view {
        speed_curve curve;
        std::vector<double> weights;  // of a second at the highest speed, by curve of the kind
        std::vector<double> values;   // of a unit of weight, ascending
    };
    /// A lower bound on the cost of a job, and the value and the end at which it is reached.
    struct cost {
        double least = 0, end = 0;
        std::size_t level = 0;
    };

    std::span<priced_jobs::job const> jobs_;
    double capacity_, from_, cell_;  // devices; start and length of a cell in seconds
    std::size_t cells_;
    std::vector<view> views_;           // `views` of each kind
    std::vector<std::size_t> choices_;  // the view of each job
    std::vector<std::vector<std::size_t>> of_kind_;
    std::vector<double> prices_, best_prices_, used_, direction_;
    // Of the view in work, by cell and level: the integral of h up to the cell, and the devices in it
    std::vector<double> gain_, devices_;
    std::vector<double> base_;  // of the job in work, by level: the part of its cost that does not depend on its end

public:
    /// The search would take too long for more jobs.
    static constexpr std::size_t most_jobs = 20'000;

    /// Precondition: there is a job. `until` is a time in seconds after which prices are 0.
    price_bound(priced_jobs const& all, double capacity, double until)
        : jobs_(all.jobs()), capacity_(capacity), from_(first_of(all.jobs())),
          cells_(std::clamp<std::size_t>(2 * jobs_.size(), 16, most_cells)), choices_(jobs_.size(), 0),
          of_kind_(all.kinds().size()), prices_(cells_, 0.0), best_prices_(cells_, 0.0), used_(cells_, 0.0),
          direction_(cells_, 0.0), gain_(levels * (cells_ + 1), 0.0), devices_(levels * cells_, 0.0),
          base_(levels, 0.0) {
        cell_ = std::max(until - from_, 1e-9) / static_cast<double>(cells_);
        for (std::size_t j = 0; j < jobs_.size(); ++j) of_kind_[jobs_[j].kind].push_back(j);
        for (auto const& kind : all.kinds())
            for (std::size_t v = 0; v < views; ++v) views_.push_back(view_of(kind, v));
    }

    /// A lower bound on the sum of (completion time - `submitted`) of all jobs.
    [[nodiscard]] double least_sum() {
        auto const work = static_cast<double>(cells_ * (jobs_.size() + of_kind_.size() * levels));
        auto const affordable = static_cast<std::size_t>(most_work / work);
        double best = 0, stride = longest_stride;
        std::size_t since_best = 0;
        for (std::size_t round = 0; round < std::min(rounds, affordable) && stride > least_stride; ++round) {
            bool const chooses = round % choice_rounds == choice_rounds / 2;
            if (chooses) prices_ = best_prices_;
            double const sum = evaluate(chooses);
            ++since_best;
            if (sum > best) {
                best = sum;
                best_prices_ = prices_;
                since_best = 0;
            }
            if (since_best > patience) {
                stride *= 0.7;
                since_best = 0;
                prices_ = best_prices_;
                std::fill(direction_.begin(), direction_.end(), 0.0);
            }
            if (!chooses && !improve_prices(stride * best)) break;
        }
        return best * (1 - rounding);
    }

private:
    [[nodiscard]] static double first_of(std::span<priced_jobs::job const> jobs) noexcept {
        double first = jobs[0].submitted;
        for (auto const& job : jobs) first = std::min(first, job.submitted);
        return first;
    }

    /// Weights by the cost of a step at one price, from 0 to a multiple of a second for each device.
    [[nodiscard]] view view_of(std::span<speed_curve const> kind, std::size_t index) const {
        double const share = static_cast<double>(index) - 1;
        double const price = index == 0 ? 0 : 0.3 / capacity_ * std::pow(10 * capacity_, share / (views - 2));
        view made;
        for (auto const& curve : kind) made.weights.push_back(curve.cost_of_step(price));
        made.curve = highest_of(kind, made.weights);
        // Values for prices from 0 to that of all jobs' waiting for one device
        double const lowest = 0.1 / capacity_, ratio = 10 * capacity_ * static_cast<double>(jobs_.size());
        made.values.push_back(made.curve.cost_of_step(0));
        for (std::size_t i = 1; i < levels; ++i)
            made.values.push_back(
                made.curve.cost_of_step(lowest * std::pow(ratio, static_cast<double>(i - 1) / (levels - 2))));
        return made;
    }

    /// The bound with the present prices. `chooses`: each job gets the view with its highest cost.
    [[nodiscard]] double evaluate(bool chooses) {
        double sum = 0;
        std::fill(used_.begin(), used_.end(), 0.0);
        for (std::size_t kind = 0; kind < of_kind_.size(); ++kind) {
            std::vector<double> most(of_kind_[kind].size(), -1.0);
            for (std::size_t v = 0; v < views; ++v) evaluate_view(kind, v, chooses, most);
            for (double const each : most) sum += each;
        }
        double total = 0;
        for (double const price : prices_) total += price;
        return sum - capacity_ * cell_ * total;
    }

    /// Raises `most`, the costs of the jobs of a kind, by one view.
    void evaluate_view(std::size_t kind, std::size_t v, bool chooses, std::vector<double>& most) {
        auto const& members = of_kind_[kind];
        auto const has_it = [&](std::size_t j) { return chooses || choices_[j] == v; };
        if (std::none_of(members.begin(), members.end(), has_it)) return;
        view const& shown = views_[kind * views + v];
        integrate(shown);
        for (std::size_t i = 0; i < members.size(); ++i) {
            std::size_t const j = members[i];
            if (!has_it(j)) continue;
            cost const found = cost_of(jobs_[j], shown);
            if (found.least <= most[i]) continue;
            most[i] = found.least;
            choices_[j] = v;
            if (!chooses) use(jobs_[j], found);
        }
    }

    /// Fills `gain_` and `devices_`. O(cells x (levels + corners)): values ascend, so that the devices of a cell only
    /// grow.
    void integrate(view const& shown) {
        auto const corners = shown.curve.corners();
        for (std::size_t c = 0; c < cells_; ++c) {
            double* const gain = &gain_[c * levels];
            std::size_t taken = 0;  // corners up to the devices of the level
            for (std::size_t level = 0; level < levels; ++level) {
                auto const gained = [&, value = shown.values[level]](speed_point const& at) {
                    return value * at.speed - prices_[c] * at.devices;
                };
                double most = taken == 0 ? 0 : gained(corners[taken - 1]);
                for (; taken < corners.size(); ++taken) {
                    double const more = gained(corners[taken]);
                    if (more <= most) break;  // the curve is concave
                    most = more;
                }
                gain[levels + level] = gain[level] + most * cell_;
                devices_[c * levels + level] = taken == 0 ? 0 : corners[taken - 1].devices;
            }
        }
    }

    [[nodiscard]] std::size_t cell_at(double time) const noexcept {
        return std::min(cells_ - 1, static_cast<std::size_t>((time - from_) / cell_));
    }
    [[nodiscard]] double start_of(std::size_t cell) const noexcept { return from_ + cell_ * static_cast<double>(cell); }

    /// Fills `base_`: the weight at the value of each level, and the integral of h up to the submission.
    void set_base(priced_jobs::job const& job, view const& shown, double weight) noexcept {
        std::size_t const first = cell_at(job.submitted);
        double const part = (job.submitted - start_of(first)) / cell_;
        double const* const gain = &gain_[first * levels];
        for (std::size_t level = 0; level < levels; ++level)
            base_[level] = shown.values[level] * weight + gain[level] + (gain[levels + level] - gain[level]) * part;
    }

    /// The least cost of a job over all its ends.
    [[nodiscard]] cost cost_of(priced_jobs::job const& job, view const& shown) noexcept {
        double weight = 0;
        for (std::size_t i = 0; i < job.seconds.size(); ++i) weight += shown.weights[i] * job.seconds[i];
        double const horizon = start_of(cells_);
        if (job.submitted >= horizon) return {shown.values[0] * weight, job.submitted, 0};
        set_base(job, shown, weight);
        auto const cost_at_start_of = [&](std::size_t cell, std::size_t level) {
            return start_of(cell) - job.submitted + base_[level] - gain_[cell * levels + level];
        };
        // A job that ends when all prices are 0 costs at least this much, for the lowest value is that of a second.
        cost best{cost_at_start_of(cells_, 0), horizon, 0};
        std::size_t level = levels - 1;
        std::size_t const first = cell_at(job.submitted);
        for (std::size_t c = first; c < cells_ && start_of(c) - job.submitted < best.least; ++c) {
            cost const here = highest_near(level, [&](std::size_t at) {
                double const early = c == first ? shown.values[at] * weight : cost_at_start_of(c, at),
                             late = cost_at_start_of(c + 1, at);
                return early < late ? cost{early, std::max(job.submitted, start_of(c)), at}
                                    : cost{late, start_of(c + 1), at};
            });
            level = here.level;
            if (here.least < best.least) best = here;
        }
        return best;
    }

    /// Climbs from a level to the next ones while they give a higher bound. The best level falls slowly with the end.
    template <class CostAt>
    [[nodiscard]] static cost highest_near(std::size_t level, CostAt cost_at) noexcept {
        cost highest = cost_at(level);
        for (; level > 0; --level) {
            cost const next = cost_at(level - 1);
            if (next.least < highest.least) break;
            highest = next;
        }
        for (level = highest.level; level + 1 < levels; ++level) {
            cost const next = cost_at(level + 1);
            if (next.least <= highest.least) break;
            highest = next;
        }
        return highest;
    }

    /// Counts the devices of the cheapest schedule of a job.
    void use(priced_jobs::job const& job, cost const& found) noexcept {
        for (std::size_t c = cell_at(job.submitted); c < cells_ && start_of(c) < found.end; ++c) {
            double const seconds = std::min(found.end, start_of(c + 1)) - std::max(job.submitted, start_of(c));
            if (seconds > 0) used_[c] += devices_[c * levels + found.level] * seconds / cell_;
        }
    }

    /// Raises the prices where the cheapest schedules hold too many devices, and lowers them elsewhere. Returns false
    /// if nothing can improve.
    [[nodiscard]] bool improve_prices(double aim) noexcept {
        double square = 0;
        for (std::size_t c = 0; c < cells_; ++c) {
            double excess = (used_[c] - capacity_) * cell_;
            if (excess < 0 && prices_[c] <= 0) excess = 0;
            direction_[c] = 0.6 * direction_[c] + 0.4 * excess;
            square += direction_[c] * direction_[c];
        }
        if (!(square > 0)) return false;
        for (std::size_t c = 0; c < cells_; ++c) prices_[c] = std::max(0.0, prices_[c] + aim / square * direction_[c]);
        return true;
    }
};

}  // namespace ration::sim
