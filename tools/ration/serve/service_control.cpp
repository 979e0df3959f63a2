// SPDX-License-Identifier: BSL-1.0
#include "serve/service_control.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/error_text.hpp"
#include "common/printable.hpp"
#include "common/version_text.hpp"
#include "config/settings.hpp"
#include "events/json_reader.hpp"
#include "policies/policy_registry.hpp"

namespace ration::program {
namespace {

constexpr auto drain_setting = "drain", policy_setting = "policy";
constexpr std::size_t most_settings = 64;

[[nodiscard]] std::string text_of(kept_policy const& policy) {
    std::string text;
    json_writer json(text);
    json.object([&] {
        json.member("policy", policy.policy);
        json.key("settings").array([&] {
            for (auto const& one : policy.settings) json.value(one);
        });
    });
    return text;
}

}  // namespace

result<std::optional<std::string>> policy_kept_in(job_store& store) { return store.setting(policy_setting); }

/// As {"policy": "las", "settings": ["las.promote=0"]}.
std::optional<kept_policy> read_policy(std::string const& text) {
    auto const json = parse_json(text);
    kept_policy out;
    if (!json.is_object() || !json.contains("policy") || !json["policy"].is_string()) return std::nullopt;
    out.policy = json["policy"].get<std::string>();
    if (!json.contains("settings")) return json.size() == 1 ? std::optional(out) : std::nullopt;
    auto const& settings = json["settings"];
    if (json.size() != 2 || !settings.is_array() || settings.size() > most_settings) return std::nullopt;
    for (auto const& one : settings) {
        if (!one.is_string()) return std::nullopt;
        out.settings.push_back(one.get<std::string>());
    }
    return out;
}

policy_choice choice_of(kept_policy const& kept, diagnostics& problems) {
    run_config given;
    add_settings(kept.settings, {kept.policy}, "set", given, problems);
    policy_choice choice{.policy = kept.policy, .label = kept.policy};
    if (auto const* const settings = given.parameters_of(kept.policy)) choice.parameters = settings->parameters;
    return choice;
}

result<void> forget_policy(job_store& store) { return store.keep(policy_setting, ""); }

/// Parents come before their children.
std::map<std::string, double, std::less<>> shares_in(tenant_tree const& tree) {
    std::map<std::string_view, double> siblings;  // their weights together, by parent
    for (auto const& one : tree.tenants) siblings[one.parent] += one.weight;
    std::map<std::string, double, std::less<>> out;
    for (auto const& one : tree.tenants)
        out[one.name] = one.weight / siblings[one.parent] * (one.parent.empty() ? 1 : out[one.parent]);
    return out;
}

result<void> service_control::restore() {
    auto const kept = store_.setting(drain_setting);
    if (!kept) return kept.failure();
    now_.draining = durable_.draining = kept->has_value();
    return {};
}

std::string service_control::why_not(std::string const& tenant, run_config const& definition) const {
    std::vector<std::string_view> known;
    known.reserve(supply_.config.tenants.tenants.size());
    for (auto const& one : supply_.config.tenants.tenants) known.push_back(one.name);
    if (!known.empty() && std::ranges::find(known, tenant) == known.end())
        return fmt::format("tenant {} is not in the configuration of the service: name one of {}", quoted(tenant),
                           fmt::join(known, ", "));
    if (!definition.jobs.front().elastic) return {};
    run_config one;
    one.file = definition.file;
    one.devices = supply_.config.devices;
    one.jobs = definition.jobs;
    if (auto const missing = missing_devices(one, supply_.devices, supply_.cpu); !missing.empty())
        return to_text(*missing.begin());
    if (now_.devices.gives_devices) return {};
    return fmt::format("the job needs devices, and policy {} gives none: change it, as by ration policy set drf",
                       quoted(now_.policy));
}

device_rule rule_of(any_policy const& policy, std::string_view name, run_config const& config) {
    auto const& about = policy.about();
    device_rule out{.gives_devices = policy.reads(devices_to_share)};
    bool heeds_quotas = false;
    if (auto const* const given = config.parameters_of(name); given != nullptr) {
        for (auto const& one : given->parameters) {
            auto const* const value = std::get_if<std::string>(&one.value);
            heeds_quotas = heeds_quotas || (one.name == "tenants" && value != nullptr && *value != "ignore");
        }
    }
    bool const by_arrival = about.id == "ration.fifo" || about.id == "ration.gang";
    if (by_arrival && !heeds_quotas) return out;
    out.rule = about.summary.empty() ? "in its own order" : printable(about.summary);
    if (heeds_quotas) out.rule += ", with the quotas of tenants";
    return out;
}

void service_control::end_commit(bool succeeded) {
    if (succeeded)
        durable_ = now_;
    else if (!earlier_ || go_back(*earlier_))
        now_ = durable_;
    else
        now_.draining = durable_.draining;
    earlier_.reset();
}

/// False: the policy that was to be replaced decides.
bool service_control::go_back(policy_change& earlier) {
    auto const name = earlier.choice.policy;
    auto const back = exchange_(earlier);
    if (!back)
        std::fprintf(stderr, "ration: warning: policy %s: %s; set it again\n", printable(quoted(name)).c_str(),
                     printable(to_text(back.failure())).c_str());
    return static_cast<bool>(back);
}

std::optional<api_reply> service_control::answer(api_request const& request) {
    if (!request.path.starts_with("/v1/service")) return std::nullopt;
    auto const rest = request.path.substr(std::string_view("/v1/service").size());
    if (rest.empty() && request.method == "GET") return describe();
    bool const known = rest.empty() || rest == "/drain" || rest == "/policy";
    if (!known) return refusal(404, "the path is unknown: read docs/service-api.json");
    bool const drains = rest == "/drain" && (request.method == "POST" || request.method == "DELETE");
    if (!drains && (rest != "/policy" || request.method != "POST"))
        return refusal(405, "the path has no such method: read docs/service-api.json");
    if (!is_operator(request)) return refusal(403, "only the user of the service may do this: ask them");
    return drains ? drain(request.method == "POST") : change_policy(request);
}

api_reply service_control::describe() {
    constexpr std::array running{stage::deploying, stage::downloading, stage::processing, stage::storing};
    auto const jobs = list_.in_stages(running);
    if (!jobs) return failed(jobs.failure());
    api_reply out;
    json_writer json(out.json);
    json.object([&] {
        json.member("version", version_text());
        json.member("pid", facts_.pid);
        json.member("uid", facts_.uid);
        json.member("policy", now_.policy);
        json.member("max_running", facts_.max_running);
        json.member("running", std::ssize(*jobs));
        json.member("draining", now_.draining);
        json.member("folder", facts_.folder);
        json.key("tenants").array([&] {
            for (auto const& one : supply_.config.tenants.tenants)
                json.object([&] {
                    json.member("name", one.name);
                    json.member("parent", one.parent);
                    json.member("weight", one.weight);
                });
        });
    });
    return out;
}

api_reply service_control::drain(bool wanted) {
    if (auto kept = store_.keep(drain_setting, wanted ? "true" : ""); !kept) return failed(kept.failure());
    now_.draining = wanted;
    return describe();
}

api_reply service_control::change_policy(api_request const& request) {
    auto const wanted = read_policy(request.body);
    if (!wanted) return refusal(400, "the body is wrong: send {\"policy\": NAME, \"settings\": [\"NAME.KEY=VALUE\"]}");
    if (is_plugin_path(wanted->policy) && !wanted->policy.starts_with('/'))
        return refusal(400, "the path of the plugin is relative: send an absolute path");
    // Its code gets the data of all jobs, and the first lines of it the rights of the service
    if (is_plugin_path(wanted->policy) && request.uid != 0 && request.uid != facts_.uid)
        return refusal(403, "only the user of the service may load a plugin: name a policy that ration contains");
    auto prepared = prepare(*wanted);
    if (!prepared) return refusal(400, prepared.failure().text);
    auto next = std::move(prepared).value();
    auto devices = rule_of(*next.policy, wanted->policy, with_parameters(supply_.config, next.choice));
    if (auto const changed = exchange_(next); !changed)
        return refusal(400, fmt::format("policy {}: {}; {} stays the policy", quoted(wanted->policy),
                                        to_text(changed.failure()), quoted(now_.policy)));
    auto const kept = store_.keep(policy_setting, text_of(*wanted));
    if (!kept && go_back(next)) return failed(kept.failure());
    if (!earlier_) earlier_ = std::move(next);
    now_.policy = wanted->policy;
    now_.devices = std::move(devices);
    return kept ? describe() : failed(kept.failure());
}

/// The policy, which reads only columns that the service has.
result<policy_change, diagnostic> service_control::prepare(kept_policy const& wanted) {
    diagnostics problems("policy");
    auto choice = choice_of(wanted, problems);
    auto const config = with_parameters(supply_.config, choice);
    auto made = problems.empty() ? make_policy(config, wanted.policy, policy_log::for_good(), problems) : nullptr;
    if (made == nullptr)
        return diagnostic{.text = problems.empty() ? "the policy cannot be made" : to_text(*problems.begin())};
    auto const bound = made->bind(jobs_->store().schema(), {.jobs = jobs_->capacity(), .nodes = 1});
    if (!bound)
        return diagnostic{.text = fmt::format("policy {}: {}", quoted(wanted.policy), to_text(bound.failure()))};
    if (auto const label = made->reads(devices_to_share) ? "" : job_with_devices(); !label.empty())
        return diagnostic{.text = fmt::format(
                              "policy {} gives no devices, and job {} needs some: wait for its end, or choose another",
                              quoted(wanted.policy), quoted(label))};
    return policy_change{std::move(choice), std::move(made)};
}

/// A job that is not over and needs devices, by its label; empty: none does.
std::string service_control::job_with_devices() {
    constexpr std::array open{stage::queued,      stage::pending,    stage::deploying,
                              stage::downloading, stage::processing, stage::storing};
    auto const jobs = store_.in_stages(open);
    if (!jobs) return {};  // the next commit reports it
    for (auto const& job : *jobs) {
        auto const read = read_definition(job.what.definition);
        if (read.problems.empty() && read.config.jobs.front().elastic) return label_of(job.what.name, job.id);
    }
    return {};
}

}  // namespace ration::program
