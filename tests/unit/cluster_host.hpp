// SPDX-License-Identifier: BSL-1.0
// A host of a cluster: jobs that hold devices on several nodes, and the tables that a policy reads of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <ration/detail/tenant_sums.hpp>
#include <ration/host/tenants.hpp>
#include <ration/policy.hpp>

#include "host.hpp"

namespace unit {

using counts = std::vector<std::int64_t>;
/// Devices by node.
using places = std::map<std::uint32_t, std::int64_t>;

struct cluster_job {
    std::int64_t request = 1, least = 0, most = 0;  ///< bounds of 0: as much as was asked for
    double length = 100, rate = 1;                  ///< steps, steps/s
    std::uint32_t tenant = 0;
    double weight = 1;
    double deadline = -1;  ///< seconds on the cluster's clock; below 0: none
    /// By type and devices; empty: linear in devices up to `most`, the same on all types
    std::vector<double> goodput{};
};

/// One policy, asked about a cluster. Every answer is proved and comes into force at once.
template <class P, std::size_t jobs_at_most = 2100>
struct cluster {
    static constexpr std::size_t most_jobs = jobs_at_most, most_tenants = 8, most_grants = 2 * most_jobs;

    ration::snapshot_store store;
    ration::standard_columns columns;
    column<std::int64_t> request, deadline, batch;
    column<double> attained, length, rate, goodput, goodput_fixed;
    column<std::uint32_t> restarts, type, held_node, held_resource;
    column<std::uint64_t> held_job;
    column<std::int64_t> held_amount;
    ration::detail::tenant_sums tenants;
    P policy, twin;  ///< the twin is asked the same, first with too little space
    ration::binding<typename P::inputs> bound;
    std::map<std::uint64_t, places> held;
    std::map<std::uint64_t, std::int64_t> batches;  ///< that were granted, by job
    std::vector<ration::grant> answer;
    std::string fault;  ///< the first rule that an answer broke
    bool whole_requests = false;
    std::int64_t most_batch = 0;  ///< that submitted jobs accept
    double now = 0;
    std::uint64_t last_id = 0, ticks = 0;
    std::uint32_t types;
    std::int64_t widest;                     ///< devices in one row of goodput, from 0
    std::size_t (*allocations)() = nullptr;  ///< counts; then an allocation in `decide` is a fault

    explicit cluster(std::vector<std::int64_t> const& capacities, P p = P{},
                     std::vector<std::uint32_t> const& of_type = {}, std::int64_t most_devices = 64)
        : policy(p), twin(std::move(p)), types(1), widest(most_devices) {
        for (auto const ty : of_type) types = ty >= types ? ty + 1 : types;
        columns = must(ration::standard_columns::declare(store, ration::standard_resources));
        declare();
        must(store.resize(table_id::nodes, capacities.size()));
        for (std::size_t n = 0; n < capacities.size(); ++n) {
            capacity(n) = capacities[n];
            store[type][n] = n < of_type.size() ? of_type[n] : 0;
        }
        bound = must(ration::bind_columns<typename P::inputs>(store.schema()));
        if constexpr (ration::has_prepare<P>)
            for (P* one : {&policy, &twin})
                static_cast<void>(
                    one->prepare({.jobs = most_jobs, .nodes = capacities.size(), .tenants = most_tenants}));
        show();
    }

    /// The tenants of all jobs; without a call there are none.
    void set_tenants(std::vector<ration::tenant_description> const& all, ration::nanoseconds half_life = {}) {
        must(ration::fill_tenants(store, columns, all));
        tenants.prepare(store, columns, {.jobs = most_jobs, .tenants = all.size()}, half_life, true);
    }
    std::int64_t& capacity(std::size_t node) { return store[of_gpu().capacity][node]; }
    /// Later jobs accept any batch. Until then a grant of a batch is a fault.
    void let_choose_batches() { most_batch = ration::unlimited; }
    /// The best batch of the job in this row with this number of devices.
    std::int64_t& best_batch(std::size_t row, std::int64_t devices) {
        return store[batch][row * batch.width + static_cast<std::size_t>(devices)];
    }

    /// Submits a job now; its row is the last one.
    std::uint64_t submit(cluster_job const& j) {
        std::size_t const row = jobs();
        must(store.resize(table_id::jobs, row + 1));
        store[columns.id][row] = ++last_id;
        store[columns.get<"jobs/tenant">()][row] = j.tenant;
        store[columns.get<"jobs/weight">()][row] = j.weight;
        store[columns.get<"jobs/submitted">()][row] = ration::seconds(now).count;
        store[columns.started][row] = -1;
        store[deadline][row] = j.deadline < 0 ? -1 : ration::seconds(j.deadline).count;
        store[request][row] = j.request;
        store[of_gpu().minimum][row] = j.least > 0 ? j.least : j.request;
        store[of_gpu().maximum][row] = j.most > 0 ? j.most : j.request;
        store[of_batch().maximum][row] = most_batch;
        store[length][row] = store[columns.remaining][row] = j.length;
        store[rate][row] = j.rate;
        for (std::size_t k = 0; k < goodput.width; ++k) {
            auto const devices = static_cast<std::int64_t>(k) % (widest + 1);
            double const linear = devices <= store[of_gpu().maximum][row]
                                      ? j.rate * static_cast<double>(devices) / static_cast<double>(j.request)
                                      : 0;
            store[goodput][row * goodput.width + k] = store[goodput_fixed][row * goodput.width + k] =
                j.goodput.empty()      ? linear
                : k < j.goodput.size() ? j.goodput[k]
                                       : 0;
        }
        return last_id;
    }
    /// It ends and is gone.
    void end(std::uint64_t id) {
        store.erase_row(table_id::jobs, row_of(id));
        held.erase(id);
    }
    /// Lets time pass for those that hold devices.
    void pass(double seconds) {
        now += seconds;
        for (std::size_t row = 0; row < jobs(); ++row) {
            std::int64_t const devices = devices_of(id_of(row));
            store[attained][row] += static_cast<double>(devices) * seconds;
            if (devices > 0) store[columns.remaining][row] -= store[rate][row] * seconds;
        }
    }

    [[nodiscard]] std::size_t jobs() const { return store.rows(table_id::jobs); }
    [[nodiscard]] std::uint64_t id_of(std::size_t row) const { return store[columns.id][row]; }
    [[nodiscard]] std::size_t row_of(std::uint64_t id) const {
        std::size_t row = 0;
        while (id_of(row) != id) ++row;
        return row;
    }
    [[nodiscard]] std::int64_t devices_of(std::uint64_t id) const {
        std::int64_t sum = 0;
        if (auto const at = held.find(id); at != held.end())
            for (auto const& [node, amount] : at->second) sum += amount;
        return sum;
    }
    [[nodiscard]] places of(std::uint64_t id) const {
        auto const at = held.find(id);
        return at == held.end() ? places{} : at->second;
    }
    [[nodiscard]] counts devices() const {
        counts all;
        for (std::size_t row = 0; row < jobs(); ++row) all.push_back(devices_of(id_of(row)));
        return all;
    }

    /// Asks, proves, applies. The devices of all jobs afterwards, in the order of their rows.
    counts decide() {
        show();
        answer.resize(most_grants);
        ration::grants out(answer);
        ration::tick_data const data{.number = ticks,
                                     .seed = 1000 + ticks,
                                     .now = ration::seconds(now),
                                     .budget = ration::seconds(1),
                                     .data = store.view()};
        ++ticks;
        std::size_t const before = allocations != nullptr ? allocations() : 0;
        auto const reply = policy.decide(ration::tick<typename P::inputs>(data, bound), out);
        if (allocations != nullptr && allocations() != before) blame("it allocates");
        answer.resize(out.rows().size());
        if (reply != ration::status::ok) blame("no answer");
        ask_twin(data);
        for (std::size_t i = 0; i < answer.size(); ++i) take_over(i);
        validate();
        for (std::size_t row = 0; row < jobs(); ++row) start(row);
        show();
        return devices();
    }

    [[nodiscard]] std::string reason_of(std::uint64_t id) const {
        for (auto const& g : answer)
            if (id_of(g.job) == id) return std::string(P::about.reason(g.reason));
        return "unchanged";
    }

    /// Brings the tables in line with what is held.
    void show() {
        std::size_t entries = 0;
        for (auto const& [id, at] : held) entries += at.size();
        must(store.resize(table_id::held, entries));
        for (std::size_t n = 0; n < store.rows(table_id::nodes); ++n) store[of_gpu().free][n] = capacity(n);
        for (std::size_t row = 0; row < jobs(); ++row) {
            store[of_gpu().held][row] = devices_of(id_of(row));
            store[of_batch().held][row] = batches.contains(id_of(row)) ? batches[id_of(row)] : 0;
        }
        tenants.begin(store, columns, ration::seconds(now));
        std::size_t i = 0;
        for (auto const& [id, at] : held)
            for (auto const& [node, amount] : at) {
                store[held_job][i] = id;
                store[held_node][i] = node;
                store[held_resource][i] = static_cast<std::uint32_t>(resource_id::gpu);
                store[held_amount][i] = amount;
                store[of_gpu().free][node] -= amount;
                ++i;
            }
    }

    [[nodiscard]] ration::resource_columns const& of_gpu() const {
        return columns.resources[static_cast<std::size_t>(resource_id::gpu)];
    }
    [[nodiscard]] ration::resource_columns const& of_batch() const {
        return columns.resources[static_cast<std::size_t>(resource_id::batch)];
    }

private:
    void declare() {
        auto const width = static_cast<std::uint32_t>(types * static_cast<std::uint32_t>(widest + 1));
        request = must(store.declare<std::int64_t>("jobs/request.gpu"));
        deadline = must(store.declare<std::int64_t>("jobs/deadline"));
        attained = must(store.declare<double>("jobs/attained"));
        length = must(store.declare<double>("jobs/total_steps"));
        rate = must(store.declare<double>("jobs/nominal_steps_per_second"));
        restarts = must(store.declare<std::uint32_t>("jobs/restarts"));
        goodput = must(store.declare<double>("jobs/goodput", width));
        goodput_fixed = must(store.declare<double>("jobs/goodput.fixed", width));
        batch = must(store.declare<std::int64_t>("jobs/batch", static_cast<std::uint32_t>(widest + 1)));
        type = must(store.declare<std::uint32_t>("nodes/type"));
        held_job = must(store.declare<std::uint64_t>("held/job"));
        held_node = must(store.declare<std::uint32_t>("held/node"));
        held_resource = must(store.declare<std::uint32_t>("held/resource"));
        held_amount = must(store.declare<std::int64_t>("held/amount"));
    }

    void blame(std::string what) {
        if (fault.empty()) fault = what + ", tick " + std::to_string(ticks - 1);
    }

    /// Another instance gives the same answer, also when its first try has found no space for it.
    void ask_twin(ration::tick_data const& data) {
        std::vector<ration::grant> space(most_grants);
        ration::grants few({space.data(), answer.empty() ? 0 : answer.size() - 1}), all(space);
        ration::tick<typename P::inputs> const t(data, bound);
        if ((twin.decide(t, few) == ration::status::ok) != answer.empty())
            blame("it does not say that space was lacking");
        static_cast<void>(twin.decide(t, all));
        bool same = all.rows().size() == answer.size();
        for (std::size_t i = 0; same && i < answer.size(); ++i) same = all.rows()[i] == answer[i];
        if (!same) blame("asked the same it answers otherwise");
    }

    void take_over(std::size_t i) {
        auto const& g = answer[i];
        if (g.job >= jobs() || g.node >= store.rows(table_id::nodes)) return blame("no such job or node");
        if (g.resource == static_cast<std::uint16_t>(resource_id::batch) && most_batch > 0) return take_batch(g);
        if (g.resource != static_cast<std::uint16_t>(resource_id::gpu) || g.amount < 0)
            return blame("no number of devices");
        if (i > 0 && std::pair(answer[i - 1].job, answer[i - 1].node) >= std::pair(g.job, g.node))
            blame("not in the order of places");
        if (P::about.reason(g.reason).empty()) blame("a grant without a reason");
        auto& at = held[id_of(g.job)];
        if ((at.contains(g.node) ? at[g.node] : 0) == g.amount) blame("says what is so already");
        if (g.amount == 0)
            at.erase(g.node);
        else
            at[g.node] = g.amount;
        if (at.empty()) held.erase(id_of(g.job));
    }

    void take_batch(ration::grant const& g) {
        std::int64_t& now_held = batches[id_of(g.job)];
        if (now_held == g.amount) blame("says a batch that is so already");
        now_held = g.amount;
    }

    void validate() {
        for (std::size_t n = 0; n < store.rows(table_id::nodes); ++n) {
            std::int64_t sum = 0;
            for (auto const& [id, at] : held)
                if (auto const here = at.find(static_cast<std::uint32_t>(n)); here != at.end()) sum += here->second;
            if (sum > (capacity(n) > 0 ? capacity(n) : 0)) blame("a node gives more than it has");
        }
        for (std::size_t row = 0; row < jobs(); ++row) {
            std::int64_t const devices = devices_of(id_of(row));
            if (devices == 0) continue;
            if (devices < store[of_gpu().minimum][row] || devices > store[of_gpu().maximum][row])
                blame("a job gets what it does not accept");
            if (whole_requests && devices != store[request][row]) blame("a job gets a part of what it asks for");
        }
    }

    void start(std::size_t row) {
        bool const runs = devices_of(id_of(row)) > 0;
        store[columns.state][row] = static_cast<std::uint32_t>(runs ? job_state::running : job_state::queued);
        if (runs && store[columns.started][row] < 0) store[columns.started][row] = ration::seconds(now).count;
    }
};

/// Tenants without a parent, with these weights.
[[nodiscard]] inline std::vector<ration::tenant_description> weighing(std::vector<double> const& weights) {
    std::vector<ration::tenant_description> all(weights.size());
    for (std::size_t t = 0; t < all.size(); ++t) {
        all[t].id = t + 1;
        all[t].weight = weights[t];
    }
    return all;
}

/// The job in this row requests this number of devices; 0 withdraws the request.
template <class P>
void request(cluster<P>& c, std::size_t row, std::int64_t devices) {
    c.store[c.of_gpu().requested][row] = devices;
}

}  // namespace unit
