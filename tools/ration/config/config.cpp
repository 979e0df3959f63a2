// SPDX-License-Identifier: BSL-1.0
#include "config/config.hpp"

#include <algorithm>
#include <fmt/format.h>

#include <ration/process/input_file.hpp>

#include "common/diagnostics.hpp"
#include "common/printable.hpp"
#include "common/quantity.hpp"
#include "common/suggestion.hpp"
#include "config/devices.hpp"
#include "config/document.hpp"
#include "config/job.hpp"

namespace ration::program {

namespace {

constexpr std::string_view job_example = "[[job]] with name, command and target";
constexpr std::int64_t most_cpus = 4096;
constexpr nanoseconds least_tick = milliseconds(10), longest_tick = seconds(60);

[[nodiscard]] std::vector<std::string_view> views(std::vector<std::string> const& texts) {
    return {texts.begin(), texts.end()};
}

class config_reader {
    table_reader keys_;
    config_rules const& rules_;
    diagnostics& problems_;
    run_config config_;

    void refuse(position at, std::string sentence) const { problems_.add(at, std::move(sentence)); }

public:
    config_reader(table const& root, config_rules const& rules, diagnostics& problems)
        : keys_(root, "the file", problems), rules_(rules), problems_(problems) {}

    [[nodiscard]] run_config read() {
        read_policy();
        read_fallback();
        read_cpus();
        read_tick();
        read_cache();
        config_.devices = read_devices(keys_, problems_);
        read_estimators();
        read_isolation();
        config_.tenants = read_tenants(keys_, problems_);
        read_jobs();
        find_unknown_tenants();
        keys_.each_unknown([this](entry const& e) { read_parameters(e); });
        return std::move(config_);
    }

private:
    void read_policy() {
        auto const* const name = keys_.take<std::string>("policy", "the name of a policy in quotes, such as \"tradl\"");
        config_.policy_at = keys_.place_of("policy");
        if (name == nullptr) {
            if (config_.policy_at.line == 0 && !rules_.policy_given)
                refuse({}, "no policy is named; add policy = \"tradl\" at the top, or say --policy");
            return;
        }
        config_.policy = *name;
        bool const known =
            rules_.policies.empty() || std::ranges::find(rules_.policies, *name) != rules_.policies.end();
        if (name->empty() || name->find('\0') != std::string::npos || (!known && !is_plugin_path(*name)))
            refuse(config_.policy_at, "unknown policy " + quoted(*name) + suggestion(*name, views(rules_.policies)));
    }

    void read_fallback() {
        auto const* const name =
            keys_.take<std::string>("fallback", "the name of a policy in quotes, such as \"none\"");
        if (name == nullptr) return;
        if (std::ranges::find(rules_.policies, *name) == rules_.policies.end() && !rules_.policies.empty())
            return refuse(keys_.place_of("fallback"), "'fallback' names " + quoted(*name) +
                                                          ", which is not compiled in" +
                                                          suggestion(*name, views(rules_.policies)));
        config_.fallback = *name;
    }

    void read_cpus() {
        auto const* const count = keys_.take<std::int64_t>("cpus", "a whole number of cores");
        if (count == nullptr) return;
        if (*count < 1 || *count > most_cpus)
            return refuse(keys_.place_of("cpus"),
                          fmt::format("'cpus' is {}; write a number of cores from 1 to {}", *count, most_cpus));
        config_.cpus = static_cast<std::uint32_t>(*count);
    }

    void read_tick() {
        auto const* const text = keys_.take<std::string>("tick", "a duration in quotes, such as \"500ms\"");
        if (text == nullptr) return;
        auto const tick = read_duration("tick", *text, keys_.place_of("tick"), problems_);
        if (!tick) return;
        if (*tick < least_tick || *tick > longest_tick)
            return refuse(keys_.place_of("tick"),
                          "the tick is " + quoted(*text) + "; write a duration from \"10ms\" to \"60s\"");
        config_.tick = *tick;
    }

    void read_cache() {
        constexpr bytes least{4096};  // a page
        auto const* const text = keys_.take<std::string>("cache", "a size in quotes, such as \"20GiB\"");
        config_.cache_at = keys_.place_of("cache");
        if (text == nullptr) return;
        config_.cache = parse_size(*text);
        if (!config_.cache || *config_.cache < least)
            refuse(config_.cache_at,
                   fmt::format("'cache' is {}; write a size from \"4KiB\", such as \"20GiB\"", quoted(*text)));
    }

    void read_admin_group() {
        auto const* const name = keys_.take<std::string>("admin_group", "the name of a group in quotes");
        if (name == nullptr) return;
        config_.admin_group = *name;
        if (name->empty())
            refuse(keys_.place_of("admin_group"), "'admin_group' is empty; name a group, or leave it out");
    }

    void read_jobs() {
        value const* const v = keys_.take("job");
        if (rules_.for_service) {
            read_admin_group();
            config_.on_end = read_command(keys_, hook_keys[static_cast<std::size_t>(hook::end)], problems_);
            if (v != nullptr) refuse(v->at, "the configuration of a service has no jobs; give them to ration submit");
            return;
        }
        if (v == nullptr) return refuse({}, fmt::format("the file has no job; add a {}", job_example));
        auto const* const jobs = std::get_if<array>(&v->data);
        if (jobs == nullptr)
            return refuse(v->at, fmt::format("'job' must be a list; write a {}, in double brackets", job_example));
        if (jobs->empty()) return refuse(v->at, fmt::format("the list of jobs is empty; add a {}", job_example));
        if (jobs->size() > max_jobs)
            return refuse(v->at, fmt::format("there are {} jobs; one run takes at most {}", jobs->size(), max_jobs));
        for (auto const& job : *jobs) {
            auto const* const from = std::get_if<table>(&job.data);
            if (from == nullptr)
                refuse(job.at, fmt::format("a job must be a table, not {}; write a {}", kind_of(job), job_example));
            else
                config_.jobs.push_back(read_job(*from, job.at, problems_));
        }
        find_namesakes();
        auto const& size = config_.devices;  // their number may change from one run to the next
        for (auto& job : config_.jobs)
            if (job.elastic)
                job.definition.push_back(fmt::format("\"devices\" = [{}, {}]", size.each.count, size.per_mille));
    }

    void find_namesakes() {
        auto const& jobs = config_.jobs;
        for (auto second = jobs.begin(); second != jobs.end(); ++second) {
            auto const first = std::ranges::find(jobs.begin(), second, second->name, &job_config::name);
            if (first != second && !second->name.empty())
                refuse(second->name_at,
                       fmt::format("this job and the one in line {} are both named {}; give each a unique name",
                                   first->name_at.line, quoted(second->name)));
        }
    }

    /// A file that describes tenants describes all that its jobs name.
    void find_unknown_tenants() {
        std::vector<std::string_view> names;
        names.reserve(config_.tenants.tenants.size());
        for (auto const& tenant : config_.tenants.tenants) names.push_back(tenant.name);
        if (names.empty()) return;
        for (auto const& job : config_.jobs)
            if (!job.tenant.empty() && std::ranges::find(names, job.tenant) == names.end())
                refuse(job.where,
                       fmt::format("job {}: its tenant {} is not in the file; add a [[tenant]] of that name{}",
                                   quoted(job.name), quoted(job.tenant), suggestion(job.tenant, names)));
    }

    /// Visits the file's policy and estimators, and the policies of the command line.
    template <class Visit>
    void each_chosen(Visit visit) const {
        visit(std::string_view(config_.policy));
        for (auto const& estimator : config_.estimators) visit(std::string_view(estimator.path));
        for (auto const& policy : rules_.named) visit(std::string_view(policy));
    }

    /// Under which the file may say something of a policy.
    [[nodiscard]] std::vector<std::string_view> names_of_policies() const {
        auto names = views(rules_.policies);
        each_chosen([&](std::string_view policy) {
            auto const stem = policy_stem(policy);
            if (!stem.empty() && std::ranges::find(names, stem) == names.end()) names.push_back(stem);
        });
        return names;
    }

    void read_estimators() {
        auto const* const from = keys_.take<array>("estimators", "an array of files, such as [\"plugins/libmine.so\"]");
        if (from == nullptr) return;
        for (auto const& held : *from) {
            auto const* const path = std::get_if<std::string>(&held.data);
            if (path == nullptr || path->find('\0') != std::string::npos || !is_plugin_path(*path))
                refuse(held.at, "'estimators' has the paths of .so files, each in quotes");
            else
                config_.estimators.push_back({*path, held.at});
        }
    }

    void read_isolation() {
        auto const* const from =
            keys_.take<table>("isolation", "a table of policies, such as { mine = \"in-process\" }");
        if (from == nullptr) return;
        for (auto const& e : *from) read_isolation_of(e);
    }

    void read_isolation_of(entry const& e) {
        constexpr std::string_view words[] = {"worker", "in-process"};
        auto const names = names_of_policies();
        if (!rules_.policies.empty() && std::ranges::find(names, e.key) == names.end())
            return refuse(e.key_at, "unknown policy " + quoted(e.key) + suggestion(e.key, names));
        auto const* const word = std::get_if<std::string>(&e.held.data);
        if (word == nullptr)
            return refuse(e.held.at, fmt::format("where {} runs must be \"worker\" or \"in-process\", not {}",
                                                 quoted(e.key), kind_of(e.held)));
        auto const found = std::ranges::find(words, *word);
        if (found == std::end(words))
            return refuse(e.held.at, "unknown isolation " + quoted(*word) + suggestion(*word, {words[0], words[1]}));
        config_.isolations.push_back({e.key, static_cast<policy_location>(found - words), e.held.at});
    }

    /// A table that no key of ours explains is the table of a policy, if there is such a policy, or of the estimator
    /// that takes models.
    void read_parameters(entry const& e) {
        auto const* const from = std::get_if<table>(&e.held.data);
        auto names = names_of_policies();
        names.push_back(item_policy);
        names.emplace_back("phases");
        bool const known = rules_.policies.empty() || std::ranges::find(names, e.key) != names.end();
        if (known && from == nullptr && std::ranges::find(names, e.key) != names.end())
            return keys_.wrong_kind(e.key, e.held, "the table of the policy's parameters");
        if (!known || from == nullptr) return keys_.report_unknown(e, names);
        policy_parameters out{e.key, e.key_at, {}};
        for (auto const& [name, name_at, held] : *from) {
            parameter p{name, {}, name_at, held.at};
            if (read_parameter(held, p))
                out.parameters.push_back(std::move(p));
            else
                refuse(held.at, fmt::format("parameter {} must be a number, text, true or false, not {}", quoted(name),
                                            kind_of(held)));
        }
        config_.parameters.push_back(std::move(out));
    }

    [[nodiscard]] static bool read_parameter(value const& from, parameter& into) {
        if (auto const* b = std::get_if<bool>(&from.data))
            into.value = *b;
        else if (auto const* i = std::get_if<std::int64_t>(&from.data))
            into.value = *i;
        else if (auto const* d = std::get_if<double>(&from.data))
            into.value = *d;
        else if (auto const* s = std::get_if<std::string>(&from.data))
            into.value = *s;
        else
            return false;
        return true;
    }
};

[[nodiscard]] bool is_blank(std::string_view text) noexcept {
    return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

[[nodiscard]] parsed_config unreadable(std::string const& file, std::string sentence) {
    parsed_config out{.config = {}, .problems = diagnostics(file)};
    out.config.file = file;
    out.problems.add(position{}, std::move(sentence));
    return out;
}

}  // namespace

policy_parameters const* run_config::parameters_of(std::string_view name) const noexcept {
    auto const found = std::ranges::find(parameters, policy_stem(name), &policy_parameters::policy);
    return found == parameters.end() ? nullptr : &*found;
}

policy_isolation const* run_config::isolation_of(std::string_view name) const noexcept {
    auto const found = std::ranges::find(isolations, policy_stem(name), &policy_isolation::policy);
    return found == isolations.end() ? nullptr : &*found;
}

std::string_view run_config::fallback_name() const noexcept {
    if (!fallback.empty()) return fallback;
    return shares_devices() ? "fifo" : "none";
}

bool run_config::shares_devices() const noexcept {
    return devices.count > 0 || devices.open ||
           std::ranges::any_of(jobs, [](job_config const& job) { return job.elastic.has_value(); });
}

bool is_plugin_path(std::string_view policy) noexcept {
    return policy.find('/') != std::string_view::npos || policy.ends_with(".so");
}

std::string_view policy_stem(std::string_view policy) noexcept {
    if (std::size_t const slash = policy.rfind('/'); slash != std::string_view::npos) policy.remove_prefix(slash + 1);
    if (!policy.ends_with(".so")) return policy;
    policy.remove_suffix(3);
    if (policy.starts_with("lib")) policy.remove_prefix(3);
    return policy;
}

parsed_config parse_config(std::string text, std::string file, config_rules const& rules) {
    parsed_config out{.config = {}, .problems = diagnostics(file)};
    if (is_blank(text) && !rules.for_service) {
        out.problems.add(position{}, fmt::format("the file is empty; write a policy and a {}", job_example));
    } else {
        auto const document = parse_document(text);
        if (document)
            out.config = config_reader(*document, rules, out.problems).read();
        else
            out.problems.add(in_file(file, document.failure()));
    }
    out.problems.sort();
    out.config.source = std::move(text);
    out.config.file = std::move(file);
    return out;
}

parsed_config load_config(std::string const& file, config_rules const& rules) {
    static_assert(max_config_bytes == 1 << 20);
    static constexpr process::input_rules jobs_file{
        .remedy = "give the path of a jobs file", .most_bytes = max_config_bytes, .too_large = "is larger than 1 MiB"};
    auto text = process::read_input(file, jobs_file);
    if (!text) return unreadable(file, process::input_sentence(text.failure()));
    return parse_config(std::move(text).value(), file, rules);
}

}  // namespace ration::program
