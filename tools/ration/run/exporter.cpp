// SPDX-License-Identifier: BSL-1.0
#include "run/exporter.hpp"

#include <ration/process/proc.hpp>

namespace ration::program {

result<std::unique_ptr<exporter>> exporter::open(std::string const& where) {
    auto const parsed = parse_endpoint(where);
    RATION_ASSERT(parsed, "the command line was checked");
    auto listener = listening_socket::open(*parsed);
    if (!listener) return listener.failure();
    return std::unique_ptr<exporter>(new exporter(std::move(listener).value()));
}

nanoseconds exporter::join(std::vector<pollfd>& fds) const { return server_.join(fds, process::now()); }

void exporter::serve(run_state const& state) {
    nanoseconds const now = process::now();
    server_.serve(now, [&](bool open_metrics) {
        auto& [page, made] = pages_[open_metrics ? 1 : 0];
        if (page == nullptr || now - made >= page_lifetime) {
            page = std::make_shared<std::string const>(metrics_.page(state, open_metrics));
            made = now;
        }
        return page;
    });
}

}  // namespace ration::program
