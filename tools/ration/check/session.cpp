// SPDX-License-Identifier: BSL-1.0
#include "session.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/core.h>
#include <span>
#include <utility>

namespace ration::conformance {

ration_out& output::offer(std::uint64_t capacity) noexcept {
    capacity_ = capacity;
    space_.make_writable();
    grants_ = reinterpret_cast<ration_grant*>(space_.place(capacity * sizeof(ration_grant), alignof(ration_grant)));
    out_ = {sizeof out_, 0, capacity, 0, 0, grants_};
    return out_;
}

answer output::take(std::int32_t code) const {
    answer a{code, out_.count, out_.needed, {}, {}};
    a.rows.assign(grants_, grants_ + std::min(out_.count, capacity_));
    if (out_.grant != grants_) a.changed_field = "out->grant";
    if (out_.capacity != capacity_) a.changed_field = "out->capacity";
    if (out_.struct_size != sizeof out_) a.changed_field = "out->struct_size";
    if (out_.flags != 0) a.changed_field = "out->flags";
    return a;
}

session::session(library const& l, subject const& s, session_options const& options)
    : options_(options), subject_(s), cluster_(cluster_of(options.nodes)),
      life_(cluster_, most_jobs,
            {.seed = options.seed, .first_jobs = first_jobs, .nodes_have = options.nodes_have, .least_minimum = 2}),
      tables_(std::make_unique<tables>(s, options.seed)), guest_(l, s), checker_(s) {
    if (options.bound_before) guest_.bind(tables(s, options.seed + 1), {.small = true});
    guest_.bind(*tables_, options.schema);
    tables_->make_scratch(guest_.scratch(), options.exact_scratch);
}

void session::move_tables() {
    former_tables_ = std::exchange(tables_, std::make_unique<tables>(subject_, options_.seed));
    former_tables_->hide();
    tables_->make_scratch(guest_.scratch(), options_.exact_scratch);
}

void session::advance() {
    ++tick_;
    life_.step();
    auto const events = cluster_.events();
    guest_.emit({reinterpret_cast<ration_event const*>(events.data()), events.size()});
    cluster_.forget_events();
    if (options_.lists_changes) changes_ = found_.between(cluster_.store().view(), cluster_.store().schema());
}

answer session::ask(std::uint64_t capacity, output& into, bool cancelled) {
    tables_->unlock();
    tables_->show(cluster_, tick_, cancelled, changes_);
    if (options_.lock_inputs) tables_->lock();
    // An estimator gets its exact space, so that what it writes behind that shows.
    if (subject_.is_estimator()) capacity = subject_.computed.grants(cluster_.jobs().size());
    auto a = into.take(guest_.decide(tables_->tick(), into.offer(capacity)));
    a.is_estimate = subject_.is_estimator();
    return a;
}

std::string session::fault(answer const& a) {
    if (!a.is_estimate) return checker_.fault(cluster_, a.rows);
    return subject_.computed.fault(std::as_bytes(std::span(a.rows)), cluster_.jobs().size()).c_str();
}

void session::apply(answer const& a) {
    if (a.is_estimate || a.code != RATION_OK || a.count > most_grants || !fault(a).empty()) return;
    for (auto const& g : a.rows)
        cluster_.grant({{cluster_.jobs()[g.job].id}, g.node, static_cast<resource_id>(g.resource), g.amount}, g.job);
    cluster_.show_held();
}

answer session::tick() {
    advance();
    auto a = ask();
    apply(a);
    return a;
}

void expect_answer(session const& s, answer const& a) {
    if (a.code != RATION_OK)
        broken(fmt::format("tick {}: {} returned {}", s.tick_number(), a.is_estimate ? "estimate" : "decide",
                           name_of_code(a.code)));
}

bool same_bytes(std::vector<ration_grant> const& a, std::vector<ration_grant> const& b) noexcept {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(ration_grant)) == 0);
}

}  // namespace ration::conformance
