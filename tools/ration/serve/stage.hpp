// SPDX-License-Identifier: BSL-1.0
/// The stages of a submitted job, and the transitions between them. The names are those of FfDL's trainer
/// (Jayaram et al., "FfDL: A Flexible Multi-tenant Deep Learning Platform", Middleware 2019).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ration::program {

enum class stage : std::uint8_t {
    queued,       ///< accepted; waits for its turn, for other jobs or for its next attempt
    pending,      ///< admitted to the run, not launched yet
    deploying,    ///< its launch is decided; the process may exist
    downloading,  ///< it has reported that it loads its data
    processing,   ///< its process runs
    storing,      ///< it writes a checkpoint
    completed,    ///< it ended well
    failed,       ///< it ended otherwise, and has no attempt left
    halted,       ///< stopped because a user asked for it
};

inline constexpr std::array<std::string_view, 9> stage_names{
    "QUEUED", "PENDING", "DEPLOYING", "DOWNLOADING", "PROCESSING", "STORING", "COMPLETED", "FAILED", "HALTED"};

[[nodiscard]] constexpr std::string_view name_of(stage s) noexcept { return stage_names[static_cast<std::size_t>(s)]; }

/// The stage with this name; none for any other text.
[[nodiscard]] std::optional<stage> stage_named(std::string_view name) noexcept;

/// Whether a job stays in this stage.
[[nodiscard]] constexpr bool is_final(stage s) noexcept { return s >= stage::completed; }

/// Whether a process of the job may exist.
[[nodiscard]] constexpr bool may_have_process(stage s) noexcept { return s >= stage::deploying && s <= stage::storing; }

/// Whether a job may go from one stage to another. A stage does not follow itself. Only `queued` leads back, to another
/// incarnation; within one, no stage goes back except that storing and processing alternate.
[[nodiscard]] bool may_follow(stage from, stage to) noexcept;

}  // namespace ration::program
