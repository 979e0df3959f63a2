// SPDX-License-Identifier: BSL-1.0
/// A subcommand of `ration`: its options, and the function that performs it. The table of all is in cli/commands.cpp.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "command_line/describe.hpp"
#include "common/exit_code.hpp"

namespace ration::program {

/// The common parts of the options of all subcommands.
struct option_context {
    std::vector<std::string> policies;  ///< names that an option may use besides the path of a .so
    option_offers offers;               ///< what a shell can offer for the values of options
};

/// The actions that the command line asks for.
class command {
public:
    command() = default;
    command(command const&) = delete;
    command& operator=(command const&) = delete;
    virtual ~command() = default;

    /// Declares the options, which `to` fills in as it parses. `context` and this outlive `to`.
    virtual void declare_options(CLI::App& to, option_context& context) = 0;
    /// Precondition: the options are those of a command line that was parsed without an error.
    [[nodiscard]] virtual exit_code perform() const = 0;
};

/// A command whose `Options` have an overload `add_options(CLI::App&, Options&, option_context&)`.
template <class Options>
class command_with final : public command {
    Options options_;
    exit_code (*perform_)(Options const&);

public:
    explicit command_with(exit_code (*perform)(Options const&)) : perform_(perform) {}

    [[nodiscard]] Options const& options() const noexcept { return options_; }
    void declare_options(CLI::App& to, option_context& context) override { add_options(to, options_, context); }
    [[nodiscard]] exit_code perform() const override { return perform_(options_); }
};

template <class Options, exit_code (*Perform)(Options const&)>
[[nodiscard]] std::unique_ptr<command> make_command() {
    return std::make_unique<command_with<Options>>(Perform);
}

/// A line in the table of a program's commands.
struct subcommand {
    char const *name, *help;             ///< "run"; a command of the group "measure" is "measure scaling"
    std::unique_ptr<command> (*make)();  ///< null: a group, whose commands follow
};

/// What a program offers.
struct command_table {
    std::span<subcommand const> commands;  ///< in the order in which --help lists them
    char const* notes;                     ///< below them in --help
};

}  // namespace ration::program
