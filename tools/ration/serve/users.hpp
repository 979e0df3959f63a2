// SPDX-License-Identifier: BSL-1.0
/// The users of a service of root: their accounts, their folders and their tenants.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>

#include <ration/result.hpp>

#include "config/config.hpp"
#include "serve/definition.hpp"

namespace ration::program {

/// The user with this number as the owner of jobs, by the account database of the machine; none: it has no such user.
[[nodiscard]] std::optional<job_owner> owner_of(std::int64_t uid, service_folder const& folder);

/// Makes the folder of a user, with the path of the progress socket. Errors: those of mkdir(2), chown(2) and
/// symlink(2); `denied` if something else is there.
[[nodiscard]] result<void> make_folder_of(job_owner const& owner, service_folder const& folder);

/// Whether jobs of the user may count for a tenant: it is named after the user, or after a group that has this user.
[[nodiscard]] bool is_tenant_of(job_owner const& owner, std::string const& tenant);

/// The number of the group that a name of the configuration means; none: the group does not exist.
[[nodiscard]] std::optional<gid_t> group_named(std::string const& name);

}  // namespace ration::program
