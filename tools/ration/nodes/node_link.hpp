// SPDX-License-Identifier: BSL-1.0
/// The controller's side of the conversation with one node: the command that reaches it, and its session.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <ration/process/child.hpp>

#include "nodes/cluster_spec.hpp"
#include "nodes/wire.hpp"
#include "nodes/wire_channel.hpp"

namespace ration::program {

class node_link {
    node_spec spec_;
    std::optional<process::child> process_;
    std::optional<wire_channel> channel_;
    std::string session_;
    std::uint64_t sent_ = 0, received_ = 0;
    std::int64_t clock_ = 0;
    std::size_t banner_ = 0;
    bool has_hello_ = false;

public:
    explicit node_link(node_spec spec) : spec_(std::move(spec)) {}

    /// Starts the command for a new session. Errors: those of pipe(2) and posix_spawn(3).
    [[nodiscard]] result<void> start();
    void send(node_order const& what);
    /// Passes each report of the session to `handle`, and a sentence on each other line to `complain`.
    void receive(std::function<void(node_report&&)> const& handle, std::function<void(std::string)> const& complain);
    /// The conversation has ended. Pre: nothing more is to be received.
    void close();
    /// Ends the command, by its process group: SIGTERM or SIGKILL.
    void end_command(bool kill);
    /// Whether the command has ended. Reaps it.
    [[nodiscard]] bool has_ended() { return !process_ || process_->try_wait().has_value(); }

    [[nodiscard]] node_spec const& spec() const noexcept { return spec_; }
    [[nodiscard]] std::string const& name() const noexcept { return spec_.name; }
    [[nodiscard]] std::string const& session() const noexcept { return session_; }
    [[nodiscard]] wire_channel* channel() noexcept { return channel_ ? &*channel_ : nullptr; }

private:
    void take_line(wire_line const& line, std::function<void(node_report&&)> const& handle,
                   std::function<void(std::string)> const& complain);
};

}  // namespace ration::program
