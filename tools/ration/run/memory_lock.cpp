// SPDX-License-Identifier: BSL-1.0
#include "run/memory_lock.hpp"

#include <array>
#include <fmt/format.h>
#include <linux/capability.h>
#include <string>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ration/resource.hpp>

#include "common/quantity.hpp"
#include "events/machine.hpp"

namespace ration::program {
namespace {

[[nodiscard]] bool may_lock_without_limit() {
    __user_cap_header_struct which{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> all{};
    return ::syscall(SYS_capget, &which, all.data()) == 0 && (all[0].effective >> CAP_IPC_LOCK & 1) != 0;
}

}  // namespace

std::int64_t lockable_memory() {
    rlimit now{};
    if (may_lock_without_limit() || ::getrlimit(RLIMIT_MEMLOCK, &now) != 0 || now.rlim_cur == RLIM_INFINITY)
        return unlimited;
    return static_cast<std::int64_t>(now.rlim_cur);
}

void check_cache(run_config const& config, diagnostics& problems) {
    if (!config.cache) return;
    auto const refuse = [&](std::string sentence) { problems.add(config.cache_at, std::move(sentence)); };
    auto const memory = machine_here().memory;
    auto const lockable = lockable_memory();
    if (*config.cache > memory)
        refuse(fmt::format("'cache' is {}, and this machine has {} of memory; write a smaller cache",
                           size_text(*config.cache), size_text(memory)));
    else if (config.cache->count > lockable)
        refuse(
            fmt::format("'cache' is {}, and this process may lock {} of memory; raise that limit (ulimit -l, or "
                        "LimitMEMLOCK= of a service), or write a smaller cache",
                        size_text(*config.cache), size_text({lockable})));
}

}  // namespace ration::program
