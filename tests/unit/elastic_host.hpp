// SPDX-License-Identifier: BSL-1.0
// A host whose jobs say how they scale: devices, speed-ups, batches.
#pragma once

#include <initializer_list>
#include <map>
#include <vector>

#include <ration/host/check.hpp>
#include <ration/policies/elastic_batch_dp.hpp>

#include "host.hpp"

namespace unit {

using counts = std::vector<std::int64_t>;

/// elastic_batch_dp on a node of `devices` devices, or on several nodes. Each answer is validated, and comes into force
/// at once.
struct elastic_asked {
    using policy = ration::policies::elastic_batch_dp;

    host on;
    column<double> speedup;
    column<std::int64_t> batch;
    policy asked;
    ration::binding<policy::inputs> bound;
    ration::checker validation;
    ration::buffer<ration::checked_grant> accepted;
    ration::buffer<ration::rejection> rejected;
    std::vector<ration::grant> rows;
    ration::status reply = ration::status::ok;
    std::map<std::uint64_t, std::uint16_t> why;  ///< the last reason that was given, by id

    elastic_asked(std::size_t jobs, std::int64_t devices,
                  ration::policies::elastic_batch_dp_parameters const& p = {.interval = 0}, std::uint32_t width = 9,
                  std::size_t nodes = 1)
        : on(jobs, nodes), asked(p) {
        speedup = must(on.store.declare<double>("jobs/speedup", width));
        batch = must(on.store.declare<std::int64_t>("jobs/batch", width));
        on.set_capacity(resource_id::gpu, devices);
        bound = must(ration::bind_columns<policy::inputs>(on.store.schema()));
        must(ration::result<void>(asked.prepare({.jobs = 64, .nodes = nodes}) == ration::status::ok
                                      ? ration::result<void>{}
                                      : ration::error{.code = ration::errc::no_capacity}));
        for (std::size_t row = 0; row < jobs; ++row) scales(row, {0, 1, 2, 3, 4, 5, 6, 7, 8});
    }
    void scales(std::size_t row, std::initializer_list<double> f) { copy(speedup, row, f); }
    /// At k devices the best batch is the k-th of these; until now 32 k.
    void batches(std::size_t row, std::initializer_list<std::int64_t> b) { copy(batch, row, b); }
    void submitted(std::size_t row, std::int64_t when) { on.store[on.columns.get<"jobs/submitted">()][row] = when; }
    /// A queued job, which scales linearly.
    void arrives(std::uint64_t id) {
        std::size_t const row = on.store.rows(table_id::jobs);
        must(on.store.resize(table_id::jobs, row + 1));
        on.store[on.columns.id][row] = id;
        for (auto const& r : on.columns.resources) on.store[r.maximum][row] = ration::unlimited;
        scales(row, {0, 1, 2, 3, 4, 5, 6, 7, 8});
    }
    void leaves(std::size_t row) {
        on.held.release(on.id(row));
        on.store.erase_row(table_id::jobs, row);
    }

    /// The devices of the active jobs in the order of their rows.
    counts decide(double second = 0, std::size_t space = 128) {
        rows.resize(space);
        ration::show_free(on.held, on.store, on.columns);
        ration::grants out(rows);
        ration::tick_data const data{.number = 0,
                                     .seed = 0,
                                     .now = ration::seconds(second),
                                     .budget = ration::seconds(1),
                                     .data = on.store.view()};
        reply = asked.decide(ration::tick<policy::inputs>(data, bound), out);
        rows.resize(out.rows().size());
        validation.prepare(on.store, on.columns, ration::standard_resources, on.store.rows(table_id::nodes), space);
        validation.check(on.held, rows, accepted, rejected);
        for (auto const& g : accepted) on.held.set(g.what(), {});
        for (auto const& g : rows) why[on.id(g.job).value] = g.reason;
        ration::show_holdings(on.held, on.store, on.columns);
        return granted(resource_id::gpu);
    }
    /// What they hold now.
    [[nodiscard]] counts granted(resource_id r) const {
        counts amounts;
        for (std::size_t row = 0; row < on.store.rows(table_id::jobs); ++row)
            if (ration::is_active(static_cast<job_state>(on.store.at(on.columns.state, row))))
                amounts.push_back(on.store.at(on.of(r).held, row));
        return amounts;
    }
    [[nodiscard]] std::uint16_t reason(std::size_t job) const {
        auto const known = why.find(on.id(job).value);
        return known == why.end() ? std::uint16_t{0xFFFF} : known->second;
    }

private:
    template <class T>
    void copy(column<T> c, std::size_t row, std::initializer_list<T> values) {
        std::size_t k = 0;
        for (T const v : values)
            if (k < c.width) on.store[c][row * c.width + k++] = v;
        for (; k < c.width; ++k) on.store[c][row * c.width + k] = T{};
        if constexpr (std::is_same_v<T, double>)
            for (k = 1; k < batch.width; ++k)
                on.store[batch][row * batch.width + k] = static_cast<std::int64_t>(32 * k);
    }
};

}  // namespace unit
