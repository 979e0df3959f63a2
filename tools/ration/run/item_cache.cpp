// SPDX-License-Identifier: BSL-1.0
#include "run/item_cache.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <utility>

#include <ration/host/tenants.hpp>
#include <ration/process/proc.hpp>

#include "common/diagnostics.hpp"
#include "common/error_text.hpp"
#include "policies/policy_registry.hpp"

namespace ration::program {
namespace {

constexpr std::size_t most_items = 512, most_tenants = 64;
/// Jobs that start together count in the same round.
constexpr nanoseconds gathering = seconds(1);

/// The numbers of files and tenants that the jobs name, at least 1.
struct named_reads {
    std::size_t files = 0;
    std::set<std::string> tenants{};
};
[[nodiscard]] named_reads reads_of(std::span<live_job const> jobs) {
    named_reads all;
    for (auto const& job : jobs) {
        if (job.config->reads.empty()) continue;
        all.files += job.config->reads.size();
        all.tenants.insert(job.config->tenant);
    }
    return all;
}

}  // namespace

std::unique_ptr<item_cache> item_cache::of(run_config const& config, job_table const& jobs, std::size_t slots,
                                           bool open, event_sink& events) {
    if (!config.cache) return nullptr;
    diagnostics problems;
    auto const parameters = item_parameters(config, problems);
    RATION_ASSERT(parameters, "the parameters are read once before the first run");
    return std::make_unique<item_cache>(
        settings{.size = *config.cache,
                 .round = nanoseconds{static_cast<std::int64_t>(parameters->round * 1e9)},
                 .slots = slots,
                 .open = open,
                 .tenants = config.tenants.tenants},
        std::make_unique<policy_adapter<policies::shared_cache>>(policies::shared_cache(*parameters)), jobs, events);
}

item_cache::item_cache(settings with, std::unique_ptr<any_policy> policy, job_table const& jobs, event_sink& events)
    : with_(std::move(with)), jobs_(jobs), events_(events), readers_(with_.slots), policy_(std::move(policy)),
      shown_(*policy_) {
    auto const named = reads_of(jobs.jobs());
    most_items_ = with_.open ? most_items : std::clamp<std::size_t>(named.files, 1, most_items);
    most_tenants_ = with_.open ? most_tenants : std::clamp<std::size_t>(named.tenants.size(), 1, most_tenants);
    declare_columns();
    engine_ =
        std::make_unique<engine<cached_files>>(files_, shown_, fallback_, store_, columns_, standard_resources,
                                               engine_options{.settle = {.dead_band = 0, .dwell = {}, .grace = {}}});
    auto const bound = engine_->bind({.jobs = most_items_, .nodes = 1, .tenants = most_tenants_});
    RATION_ASSERT(bound, "the policy finds its columns");
    if (!with_.open)
        for (auto const& job : jobs.jobs())
            if (!job.config->reads.empty()) static_cast<void>(tenant_of(job.config->tenant));
}

void item_cache::declare_columns() {
    auto declared = standard_columns::declare(store_, standard_resources);
    RATION_ASSERT(declared, "an empty store takes the standard columns");
    columns_ = *declared;
    auto const benefit = store_.declare<double>("jobs/benefit", static_cast<std::uint32_t>(most_tenants_));
    RATION_ASSERT(benefit, "the store has no column of this name");
    benefit_ = *benefit;
    RATION_ASSERT(store_.resize(table_id::nodes, 1) && store_.resize(table_id::jobs, most_items_) &&
                      store_.resize(table_id::jobs, 0),
                  "memory for the tables");
    store_.at(columns_.resources[static_cast<std::size_t>(resource_id::cache)].capacity, 0) = with_.size.count;
}

void item_cache::advance(nanoseconds now) {
    report_outcomes(now);
    bool const has_readers = open_files(now, false);
    if (has_readers && !std::exchange(had_readers_, has_readers)) next_ = std::max(next_, now + gathering);
    had_readers_ = has_readers;
    bool const holds = std::ranges::any_of(files_.files(), [](auto const& file) { return file.held > 0; });
    // Choices that overtake the loader would grow its queue, and memory would lag behind them
    if (now < next_ || files_.is_busy() || (!has_readers && !holds)) return;
    next_ = now + with_.round;
    fill(false);
    decide(now);
}

tick_report item_cache::plan() {
    static_cast<void>(open_files({}, true));
    fill(true);
    return engine_->tick({}, std::vector<std::optional<observation>>(files_.files().size()), tick_mode::plan_only);
}

/// Returns whether a job reads a file now. `all`: also jobs that do not run.
bool item_cache::open_files(nanoseconds now, bool all) {
    bool any = false;
    for (auto const& job : jobs_.jobs()) {
        if (!(job.alive() || all) || job.config->reads.empty()) continue;
        if (!std::exchange(readers_[job].opened, true)) open_files_of(job, now);
        any |= !readers_[job].items.empty();
    }
    return any;
}

void item_cache::open_files_of(live_job const& job, nanoseconds now) {
    auto& items = readers_[job].items;
    for (auto const& path : job.config->reads) {
        auto const full = job.config->from_here(path);
        if (files_.files().size() == most_items_) forget_unread();
        if (tenants_.size() == most_tenants_) forget_tenants();
        if (files_.files().size() == most_items_ || tenant_of(job.config->tenant) == most_tenants_)
            return events_.warn_once("cache",
                                     fmt::format("the files of {} are not cached: a run has at most {} files and {} "
                                                 "tenants in its cache",
                                                 job.config->name, most_items_, most_tenants_),
                                     now);
        auto const item = files_.add(full, job.config->account());
        if (!item)
            events_.warn_once(job.config->name, fmt::format("{} {}", full, process::input_sentence(item.failure())),
                              now);
        else if (std::ranges::find(items, *item) == items.end())
            items.push_back(*item);
    }
}

/// The row of the tenant; the largest number of tenants if all rows are taken.
std::size_t item_cache::tenant_of(std::string const& name) {
    auto const known = static_cast<std::size_t>(std::ranges::find(tenants_, name, &tenant::name) - tenants_.begin());
    if (known == tenants_.size() && known < most_tenants_) tenants_.push_back({++last_tenant_, name});
    return known;
}

/// Of a service: files that no job in the run reads and that are not in memory.
void item_cache::forget_unread() {
    std::set<std::uint64_t> read;
    for (auto const& job : jobs_.jobs())
        if (!job.over())
            for (auto const item : readers_[job].items) read.insert(item.value);
    for (std::size_t row = files_.files().size(); row-- > 0;) {
        auto const& file = files_.files()[row];
        if (file.held > 0 || read.contains(file.item.value)) continue;
        engine_->release(file.item);
        if (row < store_.rows(table_id::jobs)) store_.erase_row(table_id::jobs, row);
        files_.remove(row);
    }
}

/// Of a service: tenants without a job in the run that reads.
void item_cache::forget_tenants() {
    if (!with_.open) return;
    std::set<std::string_view> reading;
    for (auto const& job : jobs_.jobs())
        if (!job.over() && readers_[job].opened) reading.insert(job.config->tenant);
    std::erase_if(tenants_, [&](tenant const& one) { return !reading.contains(one.name); });
}

void item_cache::fill(bool all) {
    forget_unread();
    forget_tenants();
    auto const files = files_.files();
    RATION_ASSERT(store_.resize(table_id::jobs, files.size()), "the memory was there before");
    auto const& cache = columns_.resources[static_cast<std::size_t>(resource_id::cache)];
    for (std::size_t row = 0; row < files.size(); ++row) {
        store_.at(columns_.id, row) = files[row].item.value;
        store_.at(columns_.state, row) = static_cast<std::uint32_t>(job_state::running);
        store_.at(cache.minimum, row) = store_.at(cache.maximum, row) = files[row].bytes;
        std::fill_n(&store_.at(benefit_, row), most_tenants_, 0.0);
    }
    for (auto const& job : jobs_.jobs()) {
        if (!(job.alive() || all)) continue;
        for (auto const item : readers_[job].items) {
            auto const row = row_of(store_, columns_, item);
            (&store_.at(benefit_, row))[tenant_of(job.config->tenant)] += static_cast<double>(files[row].bytes);
        }
    }
    fill_tenants_table();
}

void item_cache::fill_tenants_table() {
    std::vector<tenant_description> rows;
    for (auto const& [id, name] : tenants_) {
        auto const known = std::ranges::find(with_.tenants, name, &tenant_config::name);
        rows.push_back({.id = id, .weight = known == with_.tenants.end() ? 1 : known->weight});
    }
    RATION_ASSERT(fill_tenants(store_, columns_, rows), "the descriptions are valid");
}

void item_cache::decide(nanoseconds now) {
    auto const start = process::now();
    auto const report = engine_->tick(now, std::vector<std::optional<observation>>(files_.files().size()));
    for (auto const& change : report.changes) files_.give_reason(change.grant.job, reason(change.grant));
    emit(report, process::now() - start);
}

void item_cache::emit(tick_report const& report, nanoseconds took) {
    std::vector<std::string> items, tenants;
    for (auto const& file : files_.files()) items.push_back(file.path);
    for (auto const& tenant : tenants_) tenants.push_back(tenant.name);
    auto const shown = shown_.last(), left = store_.view();
    events_.emit(item_decision{.of = {.number = report.number,
                                      .seed = report.number,
                                      .budget = milliseconds(100),
                                      .took = took,
                                      .schema = store_.schema(),
                                      .shown = &shown,
                                      .left = &left,
                                      .status = static_cast<int>(report.policy_status),
                                      .grants = report.grants,
                                      .fell_back = report.fell_back},
                               .items = items,
                               .tenants = tenants},
                 report.now);
    for (auto const& rejected : report.rejected)
        events_.emit(grant_rejected{.row = report.grants[rejected.row], .rule = rejected.rule, .detail = item_policy},
                     report.now);
    for (auto const& failed : report.failed) events_.warn_once("cache", to_text(failed.failure.cause), report.now);
}

void item_cache::report_outcomes(nanoseconds now) {
    for (auto const& [item, before, after, took, problem] : files_.take()) {
        auto const* const file = files_.find(item);
        if (file == nullptr) continue;
        if (problem.empty()) {
            events_.emit(
                item_changed{
                    .item = file->path, .before = before, .after = after, .took = took, .reason = file->reason},
                now);
            continue;
        }
        engine_->lose({item, 0, resource_id::cache, 0}, now);
        events_.warn_once("cache", fmt::format("{}: {}", file->path, problem), now);
    }
}

}  // namespace ration::program
