// SPDX-License-Identifier: BSL-1.0
/// A request of a command to its service, and the message of the command if that fails.
#pragma once

#include <string>

#include "common/exit_code.hpp"
#include "serve/definition.hpp"
#include "serve/http.hpp"

namespace ration::program {

/// Asks the service of a folder. Errors: `not_found` without a service there; `denied` if another user but root owns
/// its socket; `io`.
[[nodiscard]] result<http_reply> ask_service(service_folder const& folder, std::string const& method,
                                             std::string const& path, std::string const& body = {});

/// Prints the sentence of a refusal.
[[nodiscard]] exit_code refused(http_reply const& reply);
/// Prints why the service or its list of jobs could not be asked, and how to start it.
[[nodiscard]] exit_code unreachable(error why, service_folder const& folder);

}  // namespace ration::program
