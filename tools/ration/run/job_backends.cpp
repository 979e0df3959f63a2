// SPDX-License-Identifier: BSL-1.0
#include "run/job_backends.hpp"

#include "run/cgroup_jobs.hpp"
#include "run/process_jobs.hpp"

namespace ration::program {
namespace {

struct named_backend {
    std::string_view name;
    result<std::unique_ptr<job_backend>> (*open)(run_cpus const& cpus);
};

constexpr named_backend backends[] = {{"cgroup", cgroup_jobs::open}, {"process", process_jobs::open}};

}  // namespace

std::vector<std::string_view> job_backend_names() {
    std::vector<std::string_view> out{automatic_backend};
    for (auto const& backend : backends) out.push_back(backend.name);
    return out;
}

result<std::unique_ptr<job_backend>> open_job_backend(std::string_view name, run_cpus const& cpus) {
    result<std::unique_ptr<job_backend>> opened{error{}};
    for (auto const& backend : backends) {
        if (name != automatic_backend && name != backend.name) continue;
        opened = backend.open(cpus);
        if (opened) break;
    }
    return opened;
}

}  // namespace ration::program
