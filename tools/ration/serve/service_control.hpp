// SPDX-License-Identifier: BSL-1.0
/// The operations on the service as a whole: its description, drains, and changes of its policy.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "run/host_devices.hpp"
#include "run/job_source.hpp"
#include "serve/api.hpp"

namespace ration::program {

/// The supply that the jobs of the service share.
struct service_supply {
    run_config const& config;
    host_devices const& devices;
    millicores cpu;
};

/// The description of the service in the API.
struct service_facts {
    std::int64_t uid = 0, pid = 0;
    std::string policy;  ///< at its start
    std::int64_t max_running = 0;
    std::string folder;
};

/// Its policy, as an operator has set it.
struct kept_policy {
    std::string policy;
    std::vector<std::string> settings;  ///< as `add_setting` takes them
};

/// The policy that `POST /v1/service/policy` has set in this or an earlier service, as text for `read_policy`; none: it
/// was never set. Errors: those of the list of jobs.
[[nodiscard]] result<std::optional<std::string>> policy_kept_in(job_store& store);
/// None: the text names no policy with settings.
[[nodiscard]] std::optional<kept_policy> read_policy(std::string const& text);

/// The part of a policy that concerns jobs with devices.
struct device_rule {
    bool gives_devices = false;
    std::string rule{};  ///< by which it orders waiting jobs, as a text; empty: by their arrival
};

/// With the parameters of the configuration. `name` is that of the policy there.
[[nodiscard]] device_rule rule_of(any_policy const& policy, std::string_view name, run_config const& config);

/// The policy with its settings as parameters, and problems of these.
[[nodiscard]] policy_choice choice_of(kept_policy const& kept, diagnostics& problems);

/// The next start may name another policy; the next commit makes that durable.
[[nodiscard]] result<void> forget_policy(job_store& store);

/// The part of each tenant: its weight among the tenants of its parent, times the part of the parent.
[[nodiscard]] std::map<std::string, double, std::less<>> shares_in(tenant_tree const& tree);

/// The user of the service, root and the admin group are its operators. Their settings outlive the service.
class service_control {
    struct state {
        std::string policy;
        device_rule devices;  // of its policy
        bool draining = false;
    };
    job_store& store_;
    job_list& list_;
    service_supply supply_;
    service_facts facts_;
    state now_, durable_;
    job_table const* jobs_ = nullptr;
    policy_exchange exchange_;
    std::optional<policy_change> earlier_;                 // the policy before the changes, if they have another one
    std::map<std::string, double, std::less<>> share_of_;  // by tenant of the configuration

public:
    /// `list`: that of `store`, for requests that only read.
    service_control(job_store& store, job_list& list, service_supply const& supply, service_facts facts,
                    device_rule devices)
        : store_(store), list_(list), supply_(supply), facts_(std::move(facts)),
          now_{.policy = facts_.policy, .devices = std::move(devices)}, durable_(now_),
          share_of_(shares_in(supply.config.tenants)) {}

    /// Reads whether an earlier service drained.
    [[nodiscard]] result<void> restore();
    /// The table that policies read, and the exchange of the policy. To be called in each turn before `answer`.
    void attach(job_table const& jobs, policy_exchange exchange) {
        jobs_ = &jobs;
        exchange_ = std::move(exchange);
    }

    [[nodiscard]] bool is_operator(api_request const& request) const noexcept {
        return request.is_admin || request.uid == facts_.uid;
    }
    /// Why the service can never run a job of this tenant with this definition; empty: it can.
    [[nodiscard]] std::string why_not(std::string const& tenant, run_config const& definition) const;
    /// Whether there are devices, if the job needs some. That can change between two starts of the service.
    [[nodiscard]] bool has_devices_for(job_config const& job) const noexcept {
        return !job.elastic || !supply_.devices.names().empty();
    }
    [[nodiscard]] service_supply const& supply() const noexcept { return supply_; }
    [[nodiscard]] std::string const& policy() const noexcept { return now_.policy; }
    /// By which the policy orders waiting jobs; empty: by their arrival.
    [[nodiscard]] std::string const& rule() const noexcept { return now_.devices.rule; }
    /// The part of the jobs that a tenant may run, by the weights of the configuration; 1 if it does not have the
    /// tenant. O(log tenants).
    [[nodiscard]] double share_of(std::string_view tenant) const {
        auto const found = share_of_.find(tenant);
        return found == share_of_.end() ? 1 : found->second;
    }
    /// No further job may be launched.
    [[nodiscard]] bool draining() const noexcept { return now_.draining; }
    /// None: the path is that of another part of the API.
    [[nodiscard]] std::optional<api_reply> answer(api_request const& request);
    /// To be called after each commit, with whether it succeeded. If not, the policy before the changes decides again.
    void end_commit(bool succeeded);

private:
    [[nodiscard]] api_reply describe();
    [[nodiscard]] api_reply drain(bool wanted);
    [[nodiscard]] api_reply change_policy(api_request const& request);
    [[nodiscard]] result<policy_change, diagnostic> prepare(kept_policy const& wanted);
    [[nodiscard]] bool go_back(policy_change& earlier);
    [[nodiscard]] std::string job_with_devices();
};

}  // namespace ration::program
