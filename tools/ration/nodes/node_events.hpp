// SPDX-License-Identifier: BSL-1.0
/// Events of a node, as the event log of the whole run has them.
#pragma once

#include <string>
#include <string_view>

#include <ration/result.hpp>

#include "events/event_fields.hpp"
#include "nodes/cluster_jobs.hpp"
#include "run/event_sink.hpp"

namespace ration::program {

/// Takes in an event of a node, which is the text of one JSON object, and emits it at `now`: with the node in the names
/// of devices, and with the job's number in the whole run. Errors: a sentence on it.
class node_events {
    cluster_nodes& nodes_;
    cluster_jobs& jobs_;
    event_sink& events_;

public:
    node_events(cluster_nodes& nodes, cluster_jobs& jobs, event_sink& events) noexcept
        : nodes_(nodes), jobs_(jobs), events_(events) {}

    [[nodiscard]] result<void, std::string> take(std::size_t node, std::string_view text, nanoseconds now);

private:
    [[nodiscard]] std::string on_node(std::size_t node, std::string_view devices) const;
    void take_device(std::size_t node, event_fields& fields, nanoseconds now);
    void take_warning(std::size_t node, event_fields& fields, nanoseconds now);
    void take_event_of_job(std::size_t node, std::string_view kind, event_fields& fields, nanoseconds now);
    void take_start(std::size_t node, live_job& job, event_fields& fields, nanoseconds now);
    void take_progress(live_job& job, event_fields& fields, nanoseconds now);
    void take_condition(live_job& job, event_fields& fields, nanoseconds now);
    void take_resize(std::size_t node, live_job& job, event_fields& fields, nanoseconds now);
    void take_delivery(live_job& job, event_fields& fields, nanoseconds now);
    void take_end(std::size_t node, live_job& job, event_fields& fields, nanoseconds now);
};

}  // namespace ration::program
