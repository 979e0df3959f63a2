// SPDX-License-Identifier: BSL-1.0
/// Fair sharing of a cache whose items serve several tenants at once.
/// Source: M. Kunjir, B. Fain, K. Munagala, S. Babu, "ROBUS: Fair Cache Allocation for Data-parallel Workloads", SIGMOD
/// 2017. docs/shared-cache.md lists the interpretation here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <ration/buffer.hpp>
#include <ration/job.hpp>
#include <ration/parameter.hpp>
#include <ration/policies/detail/cache_demand.hpp>
#include <ration/policies/detail/max_min_levels.hpp>
#include <ration/policies/detail/proportional_fairness.hpp>
#include <ration/policy.hpp>
#include <ration/resource.hpp>
#include <ration/state.hpp>

namespace ration::policies {

/// How a cache is shared; the names of ROBUS where it has some.
enum class cache_mode : std::uint8_t {
    pf,         ///< the largest sum of weight * log(served): proportional fairness
    mmf,        ///< max-min fairness, by weight
    optimum,    ///< the most benefit in total
    partition,  ///< each tenant has a part of the cache to itself, by weight
    serial      ///< each tenant has the whole cache for a part of the time, by weight
};

/// The words of `cache_mode` in a configuration, in the order of its values.
inline constexpr std::string_view cache_mode_names[] = {"pf", "mmf", "optimum", "partition", "serial"};
/// Found by the adapter of parameters (adapt/parameters.hpp).
[[nodiscard]] constexpr std::span<std::string_view const> words_of(cache_mode) noexcept { return cache_mode_names; }

/// Chooses the items that a cache holds in each batch. A distribution over configurations is fair, and the batches take
/// turns so that each tenant is served as by the distribution. ROBUS draws configurations at random instead.
///
/// The tenant's deficit is the service that it lacks so far. Each batch uses the configuration of the distribution
/// that serves the deficits best. The distribution is a mean of its configurations, so the sum of the squared deficits
/// grows by at most 1 for each tenant and batch. After k batches with N tenants the mean error is at most sqrt(N / k),
/// also if the reads change. It is O(1 / k) if they stay.
///
/// Does not allocate after `prepare`. Deterministic.
class cache_sharing {
public:
    explicit cache_sharing(cache_mode mode = cache_mode::pf) noexcept : mode_(mode) {}

    /// Allocates for the largest input.
    void prepare(cache_limits const& most) noexcept {
        most_configurations_ = 4 * most.tenants + 16;
        welfare_.reserve(most);
        all_.reserve(most, most_configurations_ + 1);
        pf_.reserve(most.tenants);
        mmf_.reserve(most.tenants);
        parts_.reserve(most.tenants);
        deficit_.reserve(most.tenants);
        expected_.reserve(most.tenants);
        chosen_.reserve(most.items);
        own_.reserve(most.items);
    }

    /// Decides one batch and returns its items, in ascending order. Precondition: within the limits. Tenants are known
    /// by their index: with another number of tenants all deficits are forgotten.
    std::span<std::uint32_t const> choose(cache_demand const& demand) noexcept {
        welfare_.start(demand);
        find_parts();
        if (deficit_.size() != parts_.size()) deficit_.reset(parts_.size());
        all_.clear(welfare_.tenants(), welfare_.items());
        chosen_.clear();
        expected_.reset(parts_.size());
        if (!has_reads()) return chosen_.view();
        distribute();
        expect();
        take_turn();
        return chosen_.view();
    }

    /// The service of the tenant in the distribution of the last batch, as a part of that of the best configuration for
    /// it alone. 0 for a tenant that reads nothing.
    [[nodiscard]] double expected(std::size_t tenant) const noexcept { return expected_[tenant]; }
    /// The service that the tenant lacks after all batches so far, in the same unit.
    [[nodiscard]] double deficit(std::size_t tenant) const noexcept { return deficit_[tenant]; }
    /// The deficits of all tenants, for a saved state, and their replacement.
    [[nodiscard]] std::span<double const> deficits() const noexcept { return deficit_.view(); }
    void set_deficits(std::span<double const> deficits) noexcept { deficit_.assign(deficits.data(), deficits.size()); }
    /// The tenant's benefit from the best configuration for it alone.
    [[nodiscard]] double most(std::size_t tenant) const noexcept { return welfare_.most(tenant); }
    /// The distribution of the last batch.
    [[nodiscard]] detail::cache_configurations const& configurations() const noexcept { return all_; }

private:
    cache_mode mode_;
    std::size_t most_configurations_ = 0;
    detail::cache_welfare welfare_;
    detail::cache_configurations all_;
    detail::proportional_fairness pf_;
    detail::max_min_levels mmf_;
    buffer<double> parts_, deficit_, expected_;  // by tenant
    buffer<std::uint32_t> chosen_, own_;

    /// Each tenant's part of the sum of weights, among those that the cache can serve.
    void find_parts() noexcept {
        auto const& weights = welfare_.demand().weights;
        parts_.reset(weights.size());
        double sum = 0;
        for (std::size_t t = 0; t < weights.size(); ++t) sum += welfare_.most(t) > 0 ? weights[t] : 0;
        for (std::size_t t = 0; t < weights.size(); ++t) parts_[t] = welfare_.most(t) > 0 ? weights[t] / sum : 0;
    }
    [[nodiscard]] bool has_reads() const noexcept {
        for (double const part : parts_.view())
            if (part > 0) return true;
        return false;
    }

    void distribute() noexcept {
        if (mode_ == cache_mode::partition) return divide();
        if (mode_ == cache_mode::optimum) {
            auto const best = welfare_.best([](std::uint32_t) noexcept { return 1.0; }, welfare_.demand().capacity);
            all_.share(all_.add(best, welfare_)) = 1;
            return;
        }
        for (std::uint32_t t = 0; t < parts_.size(); ++t)
            if (parts_[t] > 0)
                all_.share(all_.add(welfare_.best_alone(t, welfare_.demand().capacity), welfare_)) += parts_[t];
        if (mode_ == cache_mode::pf) pf_.solve(welfare_, parts_.view(), all_, most_configurations_);
        if (mode_ == cache_mode::mmf) mmf_.solve(welfare_, parts_.view(), all_, most_configurations_);
    }

    /// Each tenant fills its part of the cache; an item in two parts takes its space twice, and the tenant is served
    /// from its own part only.
    void divide() noexcept {
        own_.clear();
        for (std::uint32_t t = 0; t < parts_.size(); ++t) {
            if (!(parts_[t] > 0)) continue;
            auto const part = static_cast<std::int64_t>(parts_[t] * static_cast<double>(welfare_.demand().capacity));
            auto const items = welfare_.best_alone(t, part);
            expected_[t] = all_.served(all_.add(items, welfare_))[t];
            for (std::uint32_t const item : items) add_own(item);
        }
        all_.clear(welfare_.tenants(), welfare_.items());
        all_.share(all_.add(own_.view(), welfare_)) = 1;
    }
    void add_own(std::uint32_t item) noexcept {
        for (std::uint32_t const one : own_.view())
            if (one == item) return;
        own_.push_back(item);
    }

    void expect() noexcept {
        if (mode_ == cache_mode::partition) return;
        for (std::size_t c = 0; c < all_.size(); ++c)
            for (std::size_t t = 0; t < parts_.size(); ++t) expected_[t] += all_.share(c) * all_.served(c)[t];
    }

    /// Uses one configuration, and updates the deficits.
    void take_turn() noexcept {
        std::size_t best = 0;
        if (mode_ != cache_mode::partition) {
            for (std::size_t t = 0; t < parts_.size(); ++t) deficit_[t] += expected_[t];
            for (std::size_t c = 1; c < all_.size(); ++c)
                if (relief(c) > relief(best)) best = c;
            for (std::size_t t = 0; t < parts_.size(); ++t) deficit_[t] -= all_.served(best)[t];
        }
        for (std::uint32_t item = 0; item < welfare_.items(); ++item)
            if (all_.holds(best, item)) chosen_.push_back(item);
    }
    [[nodiscard]] double relief(std::size_t c) const noexcept {
        double sum = 0;
        for (std::size_t t = 0; t < parts_.size(); ++t) sum += deficit_[t] * all_.served(c)[t];
        return sum;
    }
};

/// Parameters of `shared_cache`; each member has its unit and its default.
struct shared_cache_parameters {
    cache_mode mode = cache_mode::pf;  ///< how the cache is shared
    double round = 60;                 ///< seconds for which a configuration stays

    /// Meaning and valid interval of each parameter, for help texts and the JSON schema.
    static constexpr parameter_note notes[] = {
        {.name = "mode", .meaning = "pf, mmf, optimum, partition or serial"},
        {.name = "round", .meaning = "seconds for which a configuration stays, 0 to 1000000", .least = 0, .most = 1e6}};

    /// Validates the values: a sentence with the first invalid one and the fix, or empty text.
    [[nodiscard]] constexpr std::string_view problem() const noexcept {
        return round >= 0 && round <= 1e6 ? std::string_view{}
                                          : "round is a time in seconds: write a number from 0 to 1000000";
    }
};

/// `cache_sharing` for a host whose rows of the jobs table are the items of a cache. An item holds its bytes of the
/// cache or nothing, so that `check` and the ledger count it once, however many tenants read it. The host sets
/// `jobs/min.cache` and `jobs/max.cache` of an item to its bytes. It declares the column `jobs/benefit`: the reads of
/// each tenant from the item in a round, in the order of the table tenants. A deficit follows its tenant by
/// `tenants/id`; one that leaves the table loses its deficit.
///
/// Uses the cache of the first node. O(items x tenants) once in a round besides the decision, O(1) otherwise. State:
/// the deficits with their tenants, and the time of the last round.
class shared_cache {
public:
    /// Declares the class as a policy.
    using policy_concept = policy_tag;
    /// The parameters that a user can set.
    using parameters = shared_cache_parameters;
    /// The columns that `decide` reads. A host that lacks one of them refuses the policy.
    using inputs =
        columns<in<std::uint32_t, "jobs/state">, in<std::int64_t, "jobs/max.cache">,
                in<std::int64_t, "jobs/held.cache">, in_rows<double, "jobs/benefit">, in<std::uint64_t, "tenants/id">,
                in<double, "tenants/weight">, in<std::int64_t, "nodes/capacity.cache">>;
    static constexpr std::string_view reasons[] = {"", "the item serves its readers in this round",
                                                   "other items serve their readers in this round"};
    /// Identity of the policy, and the texts of its reason codes.
    static constexpr meta about{.id = "ration.shared_cache",
                                .version = "1.0.0",
                                .summary = "a cache whose items serve several tenants, shared fairly among them",
                                .reasons = reasons};

    /// With the default parameters.
    shared_cache() noexcept : shared_cache(shared_cache_parameters{}) {}
    /// With these parameters. Precondition: `p.problem()` is empty.
    explicit shared_cache(shared_cache_parameters const& p) noexcept : round_(p.round), sharing_(p.mode) {}

    /// Allocates for the largest tables, so that `decide` does not allocate.
    [[nodiscard]] status prepare(limits const& most) noexcept {
        sharing_.prepare({most.jobs, most.tenants});
        bytes_.reserve(most.jobs);
        before_.reserve(most.tenants);
        ids_.reserve(most.tenants);
        former_ids_.reserve(most.tenants);
        tenant_.reserve(most.jobs * most.tenants);
        item_.reserve(most.jobs * most.tenants);
        benefit_.reserve(most.jobs * most.tenants);
        return status::ok;
    }

    /// Writes the grants of one tick. Returns `status::capacity` if they do not fit.
    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        if (t.nodes() == 0) return status::ok;
        if (was_asked_ && t.number() == number_) {
            sharing_.set_deficits(before_.view());  // the tick is asked again
        } else {
            if (was_asked_ && to_seconds(t.now() - last_) < round_) return status::ok;
            follow_tenants(t.get<"tenants/id">());
            was_asked_ = true;
            number_ = t.number();
            last_ = t.now();
        }
        return grant_items(t, sharing_.choose(demand_of(t)), out);
    }

    /// Writes the state if it fits, and returns its size in bytes.
    [[nodiscard]] std::size_t save(std::span<std::byte> space) const noexcept {
        state_writer out(space);
        out.put(number_);
        out.put(was_asked_);
        out.put(last_);
        for (auto const& deficits : {before_.view(), sharing_.deficits()}) {
            out.put(std::uint64_t{deficits.size()});
            for (double const one : deficits) out.put(one);
        }
        out.put(std::uint64_t{ids_.size()});
        for (std::uint64_t const id : ids_.view()) out.put(id);
        return out.needed();
    }
    /// Restores what `save` wrote. Returns `status::state`, without an effect, for invalid bytes.
    [[nodiscard]] status load(std::span<std::byte const> saved) noexcept {
        state_reader in(saved);
        std::uint64_t number = 0;
        bool was_asked = false;
        nanoseconds last;
        buffer<double> before, now;
        buffer<std::uint64_t> ids;
        if (!in.get(number) || !in.get(was_asked) || !in.get(last) || !get(in, before) || !get(in, now) ||
            !get(in, ids) || !in.finished() || ids.size() != before.size())
            return status::state;
        number_ = number;
        was_asked_ = was_asked;
        last_ = last;
        before_.assign(before.data(), before.size());
        sharing_.set_deficits(now.view());
        ids_.assign(ids.data(), ids.size());
        return status::ok;
    }

private:
    double round_;
    cache_sharing sharing_;
    std::uint64_t number_ = 0;  // of the last round
    bool was_asked_ = false;
    nanoseconds last_;                        // begin of the last round
    buffer<double> before_;                   // the deficits then
    buffer<std::uint64_t> ids_, former_ids_;  // of their tenants
    buffer<std::int64_t> bytes_;
    buffer<std::uint32_t> tenant_, item_;
    buffer<double> benefit_;

    template <class T>
    [[nodiscard]] static bool get(state_reader& in, buffer<T>& values) noexcept {
        std::uint64_t size = 0;
        if (!in.get(size) || size > in.left() / sizeof(T)) return false;
        for (T one{}; size > 0; --size) {
            if (!in.get(one) || !(one - one == 0)) return false;  // finite
            values.push_back(one);
        }
        return true;
    }

    /// Sets the deficits before this round: each tenant keeps its own, and a new one has none. O(tenants) if no row has
    /// moved.
    void follow_tenants(std::span<std::uint64_t const> ids) noexcept {
        auto const former = sharing_.deficits();
        former_ids_.swap(ids_);
        ids_.assign(ids.data(), ids.size());
        before_.reset(ids.size());
        for (std::size_t row = 0; row < ids.size(); ++row) {
            std::size_t at = row < former_ids_.size() && former_ids_[row] == ids[row] ? row : 0;
            while (at < former_ids_.size() && former_ids_[at] != ids[row]) ++at;
            if (at < former.size() && at < former_ids_.size()) before_[row] = former[at];
        }
        sharing_.set_deficits(before_.view());
    }

    /// The reads of all tenants that the column and the table both have.
    [[nodiscard]] cache_demand demand_of(tick<inputs> const& t) noexcept {
        auto const reads = t.get<"jobs/benefit">();
        std::size_t const tenants = reads.width() < t.tenants() ? reads.width() : t.tenants();
        bytes_.clear();
        tenant_.clear();
        item_.clear();
        benefit_.clear();
        for (std::uint32_t row = 0; row < t.jobs(); ++row) {
            bool const exists = is_active(static_cast<job_state>(t.get<"jobs/state">()[row]));
            std::int64_t const bytes = exists ? t.get<"jobs/max.cache">()[row] : 0;
            bytes_.push_back(bytes < 0 ? 0 : bytes > max_amount ? max_amount : bytes);  // so that sums fit
            for (std::uint32_t one = 0; one < tenants; ++one) {
                if (!(reads[row][one] > 0)) continue;
                tenant_.push_back(one);
                item_.push_back(row);
                benefit_.push_back(reads[row][one]);
            }
        }
        return {bytes_.view(), t.get<"tenants/weight">(), tenant_.view(),
                item_.view(),  benefit_.view(),           t.get<"nodes/capacity.cache">()[0]};
    }

    /// Grants the chosen items, which are in ascending order, and releases the others.
    [[nodiscard]] static status grant_items(tick<inputs> const& t, std::span<std::uint32_t const> chosen,
                                            grants& out) noexcept {
        std::size_t next = 0;
        for (std::size_t row = 0; row < t.jobs(); ++row) {
            bool const is_chosen = next < chosen.size() && chosen[next] == row;
            next += is_chosen;
            std::int64_t const amount = is_chosen ? t.get<"jobs/max.cache">()[row] : 0;
            if (t.get<"jobs/held.cache">()[row] == amount) continue;
            if (!out.set(row, 0, resource_id::cache, amount, is_chosen ? 1 : 2)) return status::capacity;
        }
        return status::ok;
    }
};

static_assert(Policy<shared_cache>);

}  // namespace ration::policies
