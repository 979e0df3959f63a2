// SPDX-License-Identifier: BSL-1.0
/// The state of a live run as text, which `ration list` and `ration logs` read. The run does not wait for its readers.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "events/json_writer.hpp"
#include "run/run_directory.hpp"
#include "view/view.hpp"

namespace ration::program {

/// The fields of the view without those of bars, as members of an object. Times are in nanoseconds, limits in
/// millicores or "unlimited".
void write_state(json_writer& json, view_model const& state);
/// The same as one object.
[[nodiscard]] std::string to_json(view_model const& state);

/// The reason why a text is not such an object, as a sentence; empty if `into` has its content.
[[nodiscard]] std::string read_state(std::string_view text, view_model& into);

/// Writes the state into the folder of the run at most once a second. A failed write is repeated a second later.
class live_state_writer {
    run_directory const& directory_;
    std::optional<nanoseconds> written_at_;

public:
    static constexpr nanoseconds interval = seconds(1);

    explicit live_state_writer(run_directory const& directory) noexcept : directory_(directory) {}

    void write(view_model const& state, nanoseconds now);
};

}  // namespace ration::program
