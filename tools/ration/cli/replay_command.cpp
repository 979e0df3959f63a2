// SPDX-License-Identifier: BSL-1.0
#include "cli/replay_command.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fmt/core.h>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

#include <ration/process/input_file.hpp>

#include "command_line/option_checks.hpp"
#include "common/diagnostics.hpp"
#include "common/error_text.hpp"
#include "common/printable.hpp"
#include "config/settings.hpp"
#include "events/json_reader.hpp"
#include "events/log_lines.hpp"
#include "events/log_version.hpp"
#include "policies/policy_registry.hpp"
#include "replay/recorded_config.hpp"
#include "replay/recorded_tick.hpp"
#include "run/run_folder.hpp"

namespace ration::program {
namespace {

constexpr auto notes_of_replay = R"(Examples:
  ration run jobs.toml && ration replay latest --policy tradl,equal_share
  ration run jobs.toml --log run.jsonl && ration replay run.jsonl --policy tradl,equal_share --set tradl.alpha=0.8

Each decision of the log is put to the policies as it was to the recorded one, whatever they answered before: what jobs would have done
under their answers is not in a log. Exit codes: 0 every policy answered; 1 one gave no answer; 2 wrong command line or file.)";

/// The first thing that a policy answers otherwise.
struct difference {
    std::uint64_t number = 0;
    nanoseconds at;
    std::string job, resource;
    std::string recorded, answered;  ///< what the job holds after either answer
    std::string reason;
};

/// One policy on one recorded run.
struct replayed {
    std::string policy;
    std::uint64_t decisions = 0, same = 0, unanswered = 0;
    std::optional<difference> first;
};

/// The names of jobs, or of files.
using names_by_id = std::map<std::uint64_t, std::string>;

struct recorded_run {
    std::string policy;
    std::int64_t schema = 0;
    names_by_id jobs{};
    std::vector<replayed> under;
};

using place = std::tuple<std::uint32_t, std::uint32_t, std::uint16_t>;

/// The holdings of jobs after an answer: those that it does not mention keep what they have.
[[nodiscard]] std::map<place, grant> in_effect(recorded_tick const& tick, std::span<grant const> answer) {
    std::map<place, grant> all;
    for (auto const& g : tick.held()) all[{g.job, g.node, g.resource}] = g;
    for (auto const& g : answer) all[{g.job, g.node, g.resource}] = g;
    return all;
}

[[nodiscard]] std::string amount_text(std::map<place, grant> const& all, place const& at) {
    auto const found = all.find(at);
    if (found == all.end() || found->second.amount == 0) return "nothing";
    return found->second.amount == unlimited ? "no limit" : fmt::format("{}", found->second.amount);
}

/// A policy, bound as soon as the log has shown all columns.
class replaying_policy {
    std::unique_ptr<any_policy> policy_;
    std::vector<grant> space_;
    std::size_t most_nodes_ = 0;
    bool bound_ = false;

public:
    replayed tally;

    replaying_policy(std::string name, std::unique_ptr<any_policy> policy) : policy_(std::move(policy)) {
        tally.policy = std::move(name);
    }

    /// Whether it decides on files that jobs read, and not on jobs.
    [[nodiscard]] bool decides_on_items() const noexcept { return policy_->reads("jobs/benefit"); }

    /// Refuses a tick that the policy cannot be asked about.
    [[nodiscard]] result<void, diagnostic> ask(recorded_tick const& tick, names_by_id const& names) {
        if (!bound_) {
            if (!tick.has_all_columns()) return {};
            limits const most{.jobs = max_jobs,
                              .nodes = tick.store().rows(table_id::nodes),
                              .tenants = tick.store().rows(table_id::tenants)};
            if (auto const bound = policy_->bind(tick.store().schema(), most); !bound)
                return diagnostic{.text = to_text(bound.failure())};
            space_.resize(most.grants());
            most_nodes_ = most.nodes;
            bound_ = true;
        }
        if (tick.store().rows(table_id::nodes) > most_nodes_)
            return diagnostic{.text = "there are more nodes than at its first decision; name a log of one run"};
        grants out(space_);
        ++tally.decisions;
        if (policy_->decide(tick.data(), out) != status::ok || out.overflowed())
            ++tally.unanswered;
        else
            compare(tick, names, in_effect(tick, tick.grants()), in_effect(tick, out.rows()));
        return {};
    }

private:
    void compare(recorded_tick const& tick, names_by_id const& names, std::map<place, grant> const& recorded,
                 std::map<place, grant> const& answered) {
        auto const differs = [&](place const& at) { return amount_text(recorded, at) != amount_text(answered, at); };
        std::optional<place> first;
        for (auto const* const all : {&recorded, &answered})
            for (auto const& [at, row] : *all)
                if (differs(at) && (!first || at < *first)) first = at;
        tally.same += !first;
        if (!first || tally.first) return;
        auto const& [job, node, resource] = *first;
        auto const name = names.find(tick.job_id(job));
        auto const mine = answered.find(*first);
        tally.first = difference{
            tick.data().number,
            tick.data().now,
            name == names.end() ? fmt::format("row {}", job) : name->second,
            resource < std::size(standard_resources) ? std::string(standard_resources[resource].name)
                                                     : fmt::format("resource {}", resource),
            amount_text(recorded, *first),
            amount_text(answered, *first),
            mine == answered.end() ? std::string() : std::string(policy_->about().reason(mine->second.reason))};
    }
};

/// The columns that only the cache for files has.
constexpr column_description item_columns[] = {{"jobs/benefit", column_type::f64, column_shape::vector}};

[[nodiscard]] std::unique_ptr<any_policy> make(run_config const& config, std::string const& name,
                                               diagnostics& problems) {
    if (name != item_policy) return make_policy(config, name, policy_log::common_to(name), problems);
    auto const parameters = item_parameters(config, problems);
    if (!parameters) return nullptr;
    return std::make_unique<policy_adapter<policies::shared_cache>>(policies::shared_cache(*parameters));
}

/// Reads a log line by line and asks the policies at each decision.
class replay_reader {
    replay_options const& options_;
    recorded_tick tick_, items_{item_columns};
    std::vector<replaying_policy> asked_;

public:
    std::vector<recorded_run> runs;

    explicit replay_reader(replay_options const& options) : options_(options) {}

    /// Takes one line. The diagnostic names neither file nor line.
    [[nodiscard]] result<void, diagnostic> take(std::string const& text) {
        try {
            return take_event(text);
        } catch (nlohmann::json::exception const& e) {
            return diagnostic{.text = e.what()};
        }
    }
    void end() {
        for (auto& policy : asked_) runs.back().under.push_back(std::move(policy.tally));
        asked_.clear();
    }

private:
    [[nodiscard]] result<void, diagnostic> take_event(std::string const& text) {
        auto const line = parse_json(text);
        if (!line.is_object() || !line.contains("event"))
            return diagnostic{.text = "this is not an event; name a log that 'ration run --log' wrote"};
        auto const& event = line["event"];
        if (event == "run") return begin(line);
        if (runs.empty())
            return diagnostic{.text = "the log does not begin with a run; name a log that 'ration run --log' wrote"};
        if (event == "job_started")
            runs.back().jobs[line.value("id", std::uint64_t{0})] = line.value("job", std::string());
        if (event == "decision") return ask(tick_, line, runs.back().jobs, false);
        if (event == "item_decision") return ask(items_, line, {}, true);
        return {};
    }
    /// Asks the policies that decide on jobs, or those that decide on files.
    [[nodiscard]] result<void, diagnostic> ask(recorded_tick& tick, nlohmann::json const& line, names_by_id names,
                                               bool items) {
        if (auto const read = tick.load(line); !read) return read;
        if (items)
            for (auto const& item : line.at("items")) names[tick.job_id(names.size())] = item.get<std::string>();
        for (auto& policy : asked_) {
            if (policy.decides_on_items() != items) continue;
            if (auto const asked = policy.ask(tick, names); !asked)
                return diagnostic{.text = fmt::format("{}: {}", policy.tally.policy, asked.failure().text)};
        }
        return {};
    }
    /// Each run is replayed by fresh policies, with the parameters of its jobs file.
    [[nodiscard]] result<void, diagnostic> begin(nlohmann::json const& line) {
        if (!runs.empty()) end();
        auto const schema = schema_of(line);
        if (auto const read = check_schema(schema); !read) return read;
        if (auto const read = tick_.begin(line); !read) return read;
        items_ = recorded_tick(item_columns);
        runs.push_back({.policy = line.value("policy", std::string("?")), .schema = schema, .jobs = {}, .under = {}});
        auto settings =
            recorded_config(line, {.policies = policy_names(), .policy_given = true, .named = options_.policies})
                .config;
        run_config own;
        for (auto const& text : options_.settings)
            if (auto const read = add_setting(text, own); !read) return read;
        for (auto const& given : own.parameters) override_parameters(given, settings);
        for (auto const& name : options_.policies) {
            diagnostics problems;
            auto policy = make(settings, name, problems);
            if (policy == nullptr) return diagnostic{.text = problems.front().text};
            asked_.emplace_back(name, std::move(policy));
        }
        return {};
    }
};

[[nodiscard]] std::string as_text(replayed const& r) {
    std::string text = fmt::format("  {:<18} {:>6} of {} decisions the same", r.policy, r.same, r.decisions);
    if (r.unanswered > 0) text += fmt::format(", {} without an answer", r.unanswered);
    if (!r.first) return text;
    auto const& d = *r.first;
    return text + fmt::format("; the first that differs, decision {} at {:.2f} s: {} of {} for {} instead of {}{}{}",
                              d.number, to_seconds(d.at), d.answered, d.resource, d.job, d.recorded,
                              d.reason.empty() ? "" : ", because ", d.reason);
}

[[nodiscard]] nlohmann::ordered_json as_json(replayed const& r) {
    nlohmann::ordered_json json{{"policy", r.policy},
                                {"decisions", r.decisions},
                                {"same", r.same},
                                {"unanswered", r.unanswered},
                                {"first", nullptr}};
    if (r.first)
        json["first"] = {{"number", r.first->number},     {"t", r.first->at.count},
                         {"job", r.first->job},           {"resource", r.first->resource},
                         {"recorded", r.first->recorded}, {"answered", r.first->answered},
                         {"reason", r.first->reason}};
    return json;
}

void print(std::vector<recorded_run> const& runs, bool json) {
    auto all = nlohmann::ordered_json::array();
    for (auto const& run : runs) {
        nlohmann::ordered_json one{
            {"recorded", run.policy}, {"schema", run.schema}, {"replayed", nlohmann::ordered_json::array()}};
        if (!json) fmt::print("{}\n", printable(fmt::format("a run under {}:", run.policy)));
        if (!json && run.schema == 1)
            fmt::print(
                "  (schema 1: its jobs/held.*, nodes/free.* and table held are as each tick's grants left them, so a policy that reads those may answer otherwise)\n");
        for (auto const& r : run.under) {
            one["replayed"].push_back(as_json(r));
            if (!json) fmt::print("{}\n", printable(as_text(r)));
        }
        all.push_back(std::move(one));
    }
    if (json) fmt::print("{}\n", all.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace));
}

}  // namespace

void add_options(CLI::App& to, replay_options& into, option_context& context) {
    to.footer(notes_of_replay);
    to.add_option("LOG", into.log, "A run of 'ration runs', 'latest', or an event log that 'ration run --log' wrote")
        ->required()
        ->type_name("");
    auto* const policy =
        to.add_option("--policy", into.policies, "Names of policies, or paths of a .so; 'ration policies' lists them");
    context.offers[policy] = {.words = context.policies, .plugins = true};
    policy->delimiter(',')
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->expected(1)
        ->required()
        ->type_name("A,B");
    add_setting_option(to, into.settings,
                       "A parameter of a policy, as in tradl.alpha=0.8, beside those of the recorded run");
    to.add_flag("--json", into.json, "As JSON");
}

exit_code replay(replay_options const& options) {
    constexpr char const* name_a_log = "name a log that 'ration run --log' wrote";
    auto const log = event_log_named(options.log);
    if (!log) return fail(exit_code::bad_input, log.failure().text);
    auto lines = log_lines::open(*log, name_a_log);
    if (!lines)
        return fail(exit_code::bad_input, fmt::format("{}: {}", *log, process::input_sentence(lines.failure())));
    replay_reader reader(options);
    std::size_t number = 0;
    for (std::string line; lines->next(line);) {
        ++number;
        if (!lines->whole()) break;  // half a line: ration or the machine ended in the middle of it
        if (auto const taken = reader.take(line); !taken)
            return fail(exit_code::bad_input, to_text(at_line(*log, number, taken.failure())));
    }
    if (!lines->status())
        return fail(exit_code::bad_input, to_text(at_line(*log, number + 1, lines->status().failure())));
    if (reader.runs.empty()) return fail(exit_code::bad_input, fmt::format("{} holds no run; {}", *log, name_a_log));
    reader.end();
    for (auto const& policy : options.policies) print_to_stderr(policy_log::common_to(policy), policy);
    print(reader.runs, options.json);
    for (auto const& run : reader.runs)
        for (auto const& r : run.under)
            if (r.unanswered > 0) return exit_code::policy_failed;
    return exit_code::ok;
}

}  // namespace ration::program
