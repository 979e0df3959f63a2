// SPDX-License-Identifier: BSL-1.0
/// The Unix socket of an agent. When its connection has ended, a later command for the same node continues the
/// conversation through this socket, and the jobs run on.
#pragma once

#include <optional>
#include <string>

#include <ration/process/descriptor.hpp>
#include <ration/result.hpp>

#include "nodes/wire.hpp"
#include "nodes/wire_channel.hpp"

namespace ration::program {

/// A conversation whose first message has arrived.
struct opened_conversation {
    wire_channel channel;
    wire_head head;
    hello_order hello;
};

class agent_socket {
    process::descriptor listener_;
    std::optional<wire_channel> next_;  // connected, without a hello so far

public:
    /// Pre: only this user can enter the folder of `path`. Errors: those of socket(2), bind(2) and listen(2).
    [[nodiscard]] static result<agent_socket> open(std::string const& path);

    /// A conversation on the same run and node; none so far. It never waits.
    [[nodiscard]] std::optional<opened_conversation> accept(hello_order const& own);
    /// What to wait for before the next `accept`.
    [[nodiscard]] int awaited() const noexcept { return next_ ? next_->input() : listener_.get(); }

    /// The connection of a later command to the socket at `path`; none: no process listens there.
    [[nodiscard]] static std::optional<wire_channel> connect(std::string const& path);
};

/// Passes messages on in both directions, until one side ends. Lines that are too long are left out.
void relay(wire_channel& controller, wire_channel& agent);

}  // namespace ration::program
