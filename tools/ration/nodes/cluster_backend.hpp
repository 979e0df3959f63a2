// SPDX-License-Identifier: BSL-1.0
/// The backend of a run on several nodes: a grant changes the entry of the job in the next lists.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <ration/host/backend.hpp>

#include "nodes/node_registry.hpp"
#include "nodes/node_share.hpp"

namespace ration::program {

/// The devices of a job on its nodes, and its batch.
struct cluster_grant {
    node_shares shares;
    std::int64_t batch = 0;
    friend bool operator==(cluster_grant const&, cluster_grant const&) noexcept = default;
};

class cluster_backend {
    node_registry const& nodes_;
    std::vector<cluster_grant> grants_;  // by job: jobs/id - 1
    std::vector<std::string> names_;     // of the nodes

public:
    struct operation {
        setting to;
        cluster_grant before, after;
    };
    using backend_concept = backend_tag;

    cluster_backend(node_registry const& nodes, std::vector<std::string> names, std::size_t jobs)
        : nodes_(nodes), grants_(jobs), names_(std::move(names)) {}

    [[nodiscard]] cluster_grant const& grant_of(std::size_t job) const noexcept { return grants_[job]; }
    /// Sets the grant in force, after a node has rolled one back.
    void set(std::size_t job, cluster_grant grant) noexcept { grants_[job] = std::move(grant); }

    // --- Backend
    [[nodiscard]] std::span<resource_id const> resources() const noexcept {
        static constexpr std::array own{resource_id::gpu, resource_id::batch};
        return own;
    }
    /// The node of the job observes it.
    [[nodiscard]] result<observation> observe(job_id) noexcept {
        return error{.code = errc::not_found, .operation = "observe a job of another node"};
    }
    [[nodiscard]] result<void> plan(setting const& wanted, ration::plan<operation>& out) noexcept {
        if (wanted.job.value == 0 || wanted.job.value > grants_.size())
            return error{.code = errc::not_found, .operation = "change the size of a job"};
        if (nodes_.state(wanted.node) != node_state::up && wanted.resource == resource_id::gpu)
            return error{.code = errc::busy,
                         .operation = "change the size of a job",
                         .remedy = "its node does not answer; wait until it does"};
        auto const& now = grants_[wanted.job.value - 1];
        operation op{.to = wanted, .before = now, .after = now};
        if (wanted.resource == resource_id::batch)
            op.after.batch = wanted.amount;
        else if (wanted.resource != resource_id::gpu)
            return error{.code = errc::not_supported,
                         .operation = "limit a job on another node",
                         .remedy = "choose a policy that grants only devices"};
        else
            set_share(op.after.shares, wanted.node, wanted.amount);
        if (op.after != op.before) out.push_back(op);
        return {};
    }
    [[nodiscard]] result<void> apply(operation const& op) noexcept {
        auto& now = grants_[op.to.job.value - 1];
        if (op.to.resource == resource_id::batch)
            now.batch = op.after.batch;
        else
            set_share(now.shares, op.to.node, op.to.amount);
        return {};
    }
    [[nodiscard]] result<void> verify(operation const&) noexcept { return {}; }  // the node reports what is in force
    [[nodiscard]] result<void> undo(operation const& op) noexcept {
        auto& now = grants_[op.to.job.value - 1];
        if (op.to.resource == resource_id::batch)
            now.batch = op.before.batch;
        else
            set_share(now.shares, op.to.node, devices_on(op.before.shares, op.to.node));
        return {};
    }
    [[nodiscard]] operation_text describe(operation const& op) noexcept {
        bool const sizes = op.to.resource == resource_id::gpu;
        return {.job = op.to.job,
                .resource = op.to.resource,
                .when = timing::needs_restart,
                .subject = sizes ? text<160>("devices on ").append(names_[op.to.node]) : text<160>("samples per step"),
                .old_value = std::string_view(
                    std::to_string(sizes ? devices_on(op.before.shares, op.to.node) : op.before.batch)),
                .new_value = std::string_view(std::to_string(op.to.amount))};
    }
};

static_assert(Backend<cluster_backend>);

}  // namespace ration::program
