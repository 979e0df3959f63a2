// SPDX-License-Identifier: BSL-1.0
/// The live view on a terminal: redraws in place, hides the cursor and gives it back on every way out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ration/process/descriptor.hpp>
#include <ration/units.hpp>

#include "view/view.hpp"

namespace ration::program {

/// One per process and only on a terminal. Never waits for the terminal: a screen that is held (Ctrl-S) misses frames.
/// The cursor comes back when the object ends, at exit(3), after every signal that ends the program but SIGKILL, and
/// while Ctrl-Z stops it.
class live_view {
    process::descriptor terminal_;
    view_style style_;
    std::optional<nanoseconds> drawn_at_;
    std::vector<std::string> lines_;  // on the screen now
    std::string pending_;             // the rest of a frame that the terminal did not take yet

public:
    static constexpr nanoseconds least_interval = milliseconds(100);

    /// `terminal`: a descriptor of the terminal; stays the caller's.
    explicit live_view(int terminal, view_style style = style_of_environment());
    live_view(live_view const&) = delete;
    live_view& operator=(live_view const&) = delete;
    /// Leaves the last frame on the screen and shows the cursor.
    ~live_view();

    /// Draws unless the last frame is younger than `least_interval`.
    void draw(view_model const& model, nanoseconds now);
    /// Draws in any case: the last frame of a run.
    void draw_now(view_model const& model, nanoseconds now);
    /// Puts a line above the view, for good.
    void print_above(std::string_view line);

private:
    [[nodiscard]] std::string erase(std::uint32_t columns);
    void put(std::string_view text);
    void drain() noexcept;
};

}  // namespace ration::program
