// SPDX-License-Identifier: BSL-1.0
#include "serve/waiting_jobs.hpp"

#include <tuple>

namespace ration::program {

void start_order::add(std::set<place> const& ready, double share, double jobs) {
    tenants_.push_back({ready.begin(), ready.end(), share, jobs});
}

std::optional<std::int64_t> start_order::next() noexcept {
    auto const rank = [](tenant const& t) { return std::tuple(t.next->first, (t.jobs + 1) / t.share, t.next->second); };
    tenant* best = nullptr;
    for (auto& t : tenants_)
        if (t.next != t.end && (best == nullptr || rank(t) < rank(*best))) best = &t;
    if (best == nullptr) return std::nullopt;
    ++best->jobs;
    return (best->next++)->second;
}

result<void> waiting_jobs::refresh(job_store& store, std::int64_t now_ms) {
    auto const changed = store.take_changed();
    auto done = loaded_ ? result<void>() : load(store);
    for (auto const id : changed)
        if (done) done = read_again(store, id);
    loaded_ = static_cast<bool>(done);
    while (!resting_.empty() && resting_.begin()->first <= now_ms) {
        auto const id = resting_.extract(resting_.begin()).value().second;
        auto const& job = jobs_.at(id);
        ready_[job.tenant].emplace(-job.priority, id);
    }
    return done;
}

result<void> waiting_jobs::load(job_store& store) {
    *this = {};
    auto all = store.brief();
    if (!all) return all.failure();
    for (auto& job : *all)
        if (auto added = add(store, std::move(job)); !added) return added;
    return {};
}

/// And the jobs that come after it.
result<void> waiting_jobs::read_again(job_store& store, std::int64_t id) {
    remove(id);
    auto found = store.brief(id);
    if (!found) return found.failure();
    bool const open = !found->empty() && !is_final(found->front().now);
    if (!found->empty() && found->front().now == stage::queued)
        if (auto added = add(store, std::move(found->front())); !added) return added;
    auto const after = successors_.find(id);
    if (open || after == successors_.end()) return {};
    for (auto const other : std::set(after->second))
        if (auto again = read_again(store, other); !again) return again;
    return {};
}

result<void> waiting_jobs::add(job_store& store, brief_job job) {
    auto const id = job.id;
    bool is_free = true;
    for (auto const other : job.after) {
        auto const found = store.brief(other);
        if (!found) return found.failure();
        auto const now = found->empty() ? stage::failed : found->front().now;
        if (now == stage::completed) continue;
        if (is_final(now)) lost_.insert({id, other});
        successors_[other].insert(id);
        is_free = false;
    }
    auto const& added = jobs_.insert_or_assign(id, std::move(job)).first->second;
    if (is_free && !added.paused) resting_.emplace(added.not_before_ms, id);
    return {};
}

void waiting_jobs::remove(std::int64_t id) {
    lost_.erase(id);
    auto const found = jobs_.find(id);
    if (found == jobs_.end()) return;
    auto const& job = found->second;
    for (auto const other : job.after) {
        auto const at = successors_.find(other);
        if (at == successors_.end()) continue;
        at->second.erase(id);
        if (at->second.empty()) successors_.erase(at);
    }
    resting_.erase({job.not_before_ms, id});
    auto const ready = ready_.find(job.tenant);
    if (ready != ready_.end()) {
        ready->second.erase({-job.priority, id});
        if (ready->second.empty()) ready_.erase(ready);
    }
    jobs_.erase(found);
}

std::vector<lost_job> waiting_jobs::lost() const {
    std::vector<lost_job> out;
    out.reserve(lost_.size());
    for (auto const& [job, predecessor] : lost_) out.push_back({job, predecessor});
    return out;
}

start_order waiting_jobs::order(std::map<std::string, double> const& running,
                                std::function<double(std::string_view)> const& share_of) const {
    start_order out;
    for (auto const& [tenant, places] : ready_) {
        auto const found = running.find(tenant);
        out.add(places, share_of(tenant), found == running.end() ? 0 : found->second);
    }
    return out;
}

}  // namespace ration::program
