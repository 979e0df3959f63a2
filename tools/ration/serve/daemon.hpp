// SPDX-License-Identifier: BSL-1.0
/// `ration serve`: one long run whose jobs are submitted while it runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/exit_code.hpp"
#include "run/options.hpp"
#include "serve/definition.hpp"

namespace ration::program {

struct serve_options {
    std::string folder;  ///< of --state; empty: `default_state_folder`
    std::string policy;  ///< empty: the one that an operator has set, that of `config`, or `default_policy`
    std::vector<std::string> settings;  ///< as `add_setting` takes them
    std::string config;                 ///< a jobs file without jobs; empty: none
    std::uint32_t max_running = 16;
    std::optional<std::uint32_t> cpus;
    std::string backend{automatic_backend};
    std::string metrics;     ///< as `parse_endpoint` takes it; empty: none
    bool replace = false;    ///< end the service that has the folder, and take its jobs over
    std::string listen;      ///< as `parse_listen_address` takes it; empty: the Unix socket alone
    std::string token_file;  ///< given with `listen`
};

inline constexpr auto default_policy = "equal_share";

/// $XDG_STATE_HOME/ration, or ~/.local/state/ration.
[[nodiscard]] std::string default_state_folder();

/// The folder of a service of root for all users of a machine.
inline constexpr auto folder_for_all = "/var/lib/ration-serve";

/// The folder that `--state` names; the default one for an empty word.
[[nodiscard]] service_folder state_folder_named(std::string const& word);

/// The folder of the service that a client means by this word of `--state`. For an empty one it is the default folder,
/// or `folder_for_all` if only that has a socket.
[[nodiscard]] service_folder service_folder_named(std::string const& word);

/// Returns only if the service cannot start or continue.
[[nodiscard]] exit_code serve(serve_options const& options);

}  // namespace ration::program
