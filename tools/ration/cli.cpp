// SPDX-License-Identifier: BSL-1.0
#include "cli.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "bench/options.hpp"
#include "cli_checks.hpp"
#include "cli_help.hpp"
#include "documents/describe.hpp"
#include "metrics/endpoint.hpp"
#include "sim/input.hpp"
#include "version_text.hpp"

namespace ration::program {

namespace {

constexpr int most_seeds = 1000, most_threads = 4096;

/// CLI11's view of the program, and the options it fills.
class parser {
    CLI::App app_{"Shares a machine among training jobs, on purpose."};
    run_options run_;
    std::string backend_ = "auto";
    doctor_options doctor_;
    policies_options policies_;
    clean_options clean_;
    check_options check_;
    new_options new_;
    simulation_options sim_;
    replay_options replay_;
    report_options report_;
    bench_options bench_;
    std::string interval_, until_, checkpoint_, save_, on_bad_grant_ = "go-on";
    std::vector<std::string> const& known_policies_;
    option_offers offers_;

public:
    explicit parser(std::vector<std::string> const& policies) : known_policies_(policies) {
        app_.name("ration");
        app_.footer(help_of_ration);
        app_.set_version_flag("--version", "ration " + version_text(), "Print the version and exit");
        app_.require_subcommand(1);
        app_.set_help_flag("-h,--help", "Print this and exit");
        add_run(*app_.add_subcommand("run", "Run the jobs of a file under a policy"));
        auto& doctor =
            *app_.add_subcommand("doctor", "Say what ration can control on this machine, and why not the rest");
        doctor.add_flag("--json", doctor_.json, "As JSON");
        auto& policies_command = *app_.add_subcommand("policies", "List the policies and their parameters");
        policies_command.add_flag("--json", policies_.json, "As JSON");
        auto* const show = policies_command
                               .add_option("--show", policies_.show,
                                           "Describe one policy and its parameters; the path of a .so does as well")
                               ->type_name("NAME");
        offers_[show] = {.words = known_policies_};
        policies_command.add_option("PATH", policies_.paths, "Plugins, or folders of plugins, to list as well")
            ->type_name("");
        auto& clean = *app_.add_subcommand("clean", "End and remove what a ration that is gone left behind");
        clean.add_flag("--dry-run", clean_.dry_run, "Only list it");
        add_check(*app_.add_subcommand("check", "Prove that a plugin keeps the rules of the plugin ABI"));
        add_sim(*app_.add_subcommand("sim", "Run a trace of jobs on a simulated cluster under several policies"));
        add_replay(*app_.add_subcommand("replay", "Say what other policies would have answered in a recorded run"));
        add_report(*app_.add_subcommand("report", "Make a page with charts of recorded runs, or of a simulation"));
        add_bench_options(
            *app_.add_subcommand("bench",
                                 "Measure what decisions of policies cost, and how near they are to the best ones"),
            bench_, checked_by([this](std::string const& name) { return check_policy(name); }),
            checked_by(check_setting));
        add_new(*app_.add_subcommand("new", "Make a folder with a policy that builds, and has tests"));
    }

    [[nodiscard]] described_program described() const { return describe(app_, offers_); }

    [[nodiscard]] command parse(std::vector<std::string> words) {
        std::ranges::reverse(words);  // CLI11 takes words from the back
        try {
            app_.parse(std::move(words));
        } catch (CLI::Success const& request) {
            return answer{reply(request), exit_code::ok};
        } catch (CLI::ParseError const& e) {
            return answer{"ration: " + printable(sentence(e)) + '\n', exit_code::bad_input};
        }
        auto const chosen = app_.get_subcommands().front()->get_name();
        if (chosen == "doctor") return doctor_;
        if (chosen == "policies") return policies_;
        if (chosen == "clean") return clean_;
        if (chosen == "check") return check_;
        if (chosen == "new") return new_;
        if (chosen == "sim") return simulation();
        if (chosen == "replay") return replay_;
        if (chosen == "report") return report_;
        if (chosen == "bench") return bench_;
        run_.compare = !run_.policies.empty();
        for (auto const& [name, choice] : backend_names)
            if (name == backend_) run_.backend = choice;
        return run_;
    }

private:
    void add_run(CLI::App& run) {
        run.footer(help_of_run);
        run.add_option("FILE", run_.file, "The jobs file; docs/run.md says what stands in it")
            ->required()
            ->type_name("");
        auto* const policy =
            run.add_option("--policy", run_.policy, "A policy's name or the path of its .so, instead of the file's");
        policy->type_name("NAME");
        auto* const compare =
            run.add_option("--compare", run_.policies,
                           "Run the jobs once under each of these policies, one after another, then under the "
                           "file's, and print a table");
        compare->delimiter(',')->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)->expected(1)->type_name("A,B");
        for (auto* const option : {policy, compare}) {
            option->check(checked_by([this](std::string const& name) { return check_policy(name); }));
            offers_[option] = {.words = known_policies_, .plugins = true};
        }
        auto* const dry_run = run.add_flag("--dry-run", run_.dry_run, "Print what would be changed, start nothing");
        run.add_flag("--explain", run_.explain, "Say for each job why it holds what it holds");
        run.add_flag("--json", run_.json, "Events as JSON lines on standard output; docs/event-log.md has the schema");
        run.add_option("--log", run_.log, "Write the same events into this file; what was in it is lost")
            ->type_name("FILE");
        auto* const backend = run.add_option("--backend", backend_, "auto, cgroup or process")
                                  ->type_name("NAME")
                                  ->check(checked_by(parse_backend));
        for (auto const& [name, choice] : backend_names) offers_[backend].words.emplace_back(name);
        run.add_option("--cpus", run_.cpus, "How many cores the jobs share, instead of the file's number")
            ->type_name("N")
            ->check(checked_by(check_cpus));
        auto* const reattach = run.add_flag("--reattach", run_.reattach,
                                            "Take over jobs of this file that a ration which is gone left running");
        run.add_flag("--quiet", run_.quiet,
                     "No view and no lines on what happens; warnings and the table at the end remain");
        auto* const metrics = run.add_option(
            "--metrics", run_.metrics,
            "Serve metrics over HTTP, as OpenMetrics or Prometheus text, while jobs run; docs/operations.md lists them");
        metrics->type_name("unix:PATH|127.0.0.1:PORT")->check(checked_by(parse_endpoint))->excludes(dry_run);
        offers_[metrics] = {.words = {"unix:", "127.0.0.1:", "[::1]:"}};
        compare->excludes(dry_run)->excludes(reattach);
    }

    void add_replay(CLI::App& replay) {
        replay.footer(help_of_replay);
        replay.add_option("LOG", replay_.log, "An event log that 'ration run --log' wrote")->required()->type_name("");
        auto* const policy = replay.add_option("--policy", replay_.policies,
                                               "Names of policies, or paths of a .so; 'ration policies' lists them");
        offers_[policy] = {.words = known_policies_, .plugins = true};
        policy->delimiter(',')
            ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
            ->expected(1)
            ->required()
            ->type_name("A,B");
        replay
            .add_option("--set", replay_.settings,
                        "A parameter of a policy, as in tradl.alpha=0.8, beside those of the recorded jobs file")
            ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
            ->expected(1)
            ->type_name("POLICY.NAME=VALUE")
            ->check(checked_by(check_setting));
        replay.add_flag("--json", replay_.json, "As JSON");
    }

    void add_report(CLI::App& report) {
        report.footer(help_of_report);
        report
            .add_option("LOG", report_.logs,
                        "Event logs that 'ration run --log' wrote, or what 'ration sim --json' printed")
            ->required()
            ->type_name("...");
        report
            .add_option(
                "--out", report_.out,
                "Write the page into this file; without it beside the first log, with .html at its end. What was in it is lost")
            ->type_name("FILE.html");
    }

    void add_sim(CLI::App& sim) {
        sim.footer(help_of_sim);
        add_sim_input(sim);
        add_sim_policies(sim);
        add_sim_times_and_faults(sim);
        add_sim_runs_and_output(sim);
    }

    static CLI::Option* add_list(CLI::App& to, char const* name, std::vector<std::string>& into, char const* help) {
        return to.add_option(name, into, help)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)->expected(1);
    }

    void add_sim_input(CLI::App& sim) {
        add_list(sim, "--trace", sim_.traces, "A file with jobs; each that is named is a sample of its own")
            ->type_name("FILE");
        sim.add_option("--format", sim_.format,
                       "Of the traces, instead of what their first lines say; docs/sim.md lists them")
            ->type_name("NAME");
        sim.add_option("--generate", sim_.generate, "Jobs that are made up: rigid, scaling, profiled or cpu")
            ->type_name("KIND[:KEY=VALUE,...]")
            ->check(checked_by(parse_generator));
        add_list(sim, "--models", sim_.models,
                 "What traces name: a folder with measured profiles, or a file with measured rates or fitted losses")
            ->type_name("PATH");
        sim.add_option(
               "--interference", sim_.interference,
               "Part of its speed that a profiled job on several nodes loses while another such job is on one of them")
            ->type_name("SHARE")
            ->check(checked_by(check_share));
        sim.add_option(
               "--cluster", sim_.cluster,
               "Nodes x devices of each, and the name of their type: 16x4, or 8x4:v100,8x8:a100; nodes with cores: 1x8cores, or 2x4+8cores")
            ->required()
            ->type_name("NxD[:TYPE],...")
            ->check(checked_by(parse_cluster));
    }

    void add_sim_policies(CLI::App& sim) {
        auto* const policy = add_list(sim, "--policy", sim_.policies,
                                      "Names of policies, or paths of a .so; 'ration policies' lists them");
        offers_[policy] = {.words = known_policies_, .plugins = true};
        policy->required()->delimiter(',')->type_name("A,B")->check(
            checked_by([this](std::string const& name) { return check_policy(name); }));
        add_list(sim, "--set", sim_.settings, "A parameter of a policy, as in las.promote=0")
            ->type_name("POLICY.NAME=VALUE")
            ->check(checked_by(check_setting));
        auto* const bad = sim.add_option("--on-bad-grant", on_bad_grant_, "go-on with those grants that pass, or stop");
        bad->type_name("WORD")->check(checked_by(check_on_bad_grant));
        offers_[bad] = {.words = {"go-on", "stop"}};
    }

    void add_sim_times_and_faults(CLI::App& sim) {
        sim.add_option(
               "--interval", interval_,
               "Ask policies at every multiple of this time too, besides when a job comes or ends; 60 when left out, 0 = never")
            ->type_name("SECONDS")
            ->check(checked_by(check_time));
        add_list(sim, "--faults", sim_.faults, "What goes wrong: losses, revocations, crashes or stragglers")
            ->type_name("KIND[:KEY=VALUE,...]")
            ->check(checked_by(check_faults));
        sim.add_option("--checkpoint", checkpoint_,
                       "Time between two saves of a job, which are what a fault leaves it; 0 when left out")
            ->type_name("SECONDS")
            ->check(checked_by(check_time));
        sim.add_option("--save", save_, "Time that each save takes from the job; 0 when left out")
            ->type_name("SECONDS")
            ->check(checked_by(check_time))
            ->needs("--checkpoint");
    }

    void add_sim_runs_and_output(CLI::App& sim) {
        sim.add_option(
               "--seeds", sim_.seeds,
               "How many workloads are made up, from the seeds 1 to N, or how often a trace is run that leaves something to chance")
            ->type_name("N")
            ->check(CLI::Range(1, most_seeds));
        sim.add_option("--until", until_, "End every run at this simulated time")
            ->type_name("SECONDS")
            ->check(checked_by(check_time));
        sim.add_option("--threads", sim_.threads, "How many runs at the same time; one for each core when left out")
            ->type_name("N")
            ->check(CLI::Range(1, most_threads));
        sim.add_option("--report", sim_.report, "Write an HTML page with charts into this file; what was in it is lost")
            ->type_name("FILE");
        sim.add_flag("--json", sim_.json,
                     "The figures as JSON on standard output, in one line, and what was measured in another");
        sim.add_flag("--quiet", sim_.quiet, "No progress on standard error");
    }

    /// What was checked word by word, as values.
    [[nodiscard]] simulation_options simulation() const {
        auto options = sim_;
        if (!interval_.empty()) options.interval = *parse_sim_time(interval_);
        if (!checkpoint_.empty()) options.checkpoint = *parse_sim_time(checkpoint_);
        if (!save_.empty()) options.save = *parse_sim_time(save_);
        if (!until_.empty()) options.until = *parse_sim_time(until_);
        options.stop_at_bad_grant = on_bad_grant_ == "stop";
        return options;
    }

    void add_check(CLI::App& check) {
        check.footer(help_of_check);
        check.add_option("FILE", check_.file, "The .so of a policy")->required()->type_name("");
        check.add_option("--seed", check_.seed, "Of the synthetic clusters; 1 when left out")
            ->type_name("N")
            ->check(checked_by(parse_seed));
        check.add_option("--config", check_.config, "The text that the policy is created with, when it needs one")
            ->type_name("TEXT");
        check.add_flag("--json", check_.json, "The results as one JSON object");
    }

    void add_new(CLI::App& make) {
        make.footer(help_of_new);
        make.add_option("NAME", new_.name, "Of the policy and its folder")
            ->required()
            ->type_name("")
            ->check(checked_by(check_policy_name));
        auto* const language = make.add_option(
            "--lang", new_.language, fmt::format("{}; c++ when left out", fmt::join(template_languages(), ", ")));
        language->type_name("LANGUAGE")->check(checked_by(check_language));
        for (auto const word : template_languages()) offers_[language].words.emplace_back(word);
    }

    [[nodiscard]] result<void, diagnostic> check_policy(std::string const& name) const {
        if (!name.empty() &&
            (is_plugin_path(name) || std::ranges::find(known_policies_, name) != known_policies_.end()))
            return {};
        return diagnostic{.text = "there is no policy " + program::quoted(name) +
                                  suggestion(name, {known_policies_.begin(), known_policies_.end()})};
    }

    [[nodiscard]] std::string reply(CLI::Success const& request) const {
        if (request.get_name() == "CallForHelp") return app_.help();
        return std::string(request.what()) + '\n';  // the version
    }

    /// The command that the words got to.
    [[nodiscard]] CLI::App const& reached() const {
        auto const commands = app_.get_subcommands();
        return commands.empty() ? app_ : *commands.front();
    }

    [[nodiscard]] std::string sentence(CLI::ParseError const& e) const {
        auto const& where = reached();
        if (auto const rest = app_.remaining(true); !rest.empty()) return sentence_on_unknown(where, rest.front());
        std::string const help = &where == &app_ ? "ration --help" : "ration " + where.get_name() + " --help";
        if (&where == &app_)
            return fmt::format("say what to do: {}; '{}' tells more", fmt::join(command_names(), ", "), help);
        if (e.get_name() == "ValidationError") return e.what();
        std::string const reply = e.what();
        if (e.get_name() == "ArgumentMismatch")
            return fmt::format("'{}' takes one value; '{}' tells more", reply.substr(0, reply.find(':')), help);
        return fmt::format("{}; '{}' tells more", reply, help);
    }

    [[nodiscard]] std::string sentence_on_unknown(CLI::App const& where, std::string const& word) const {
        if (!word.starts_with('-')) {
            auto const names = command_names();
            if (&where == &app_)
                return "there is no command " + program::quoted(word) + suggestion(word, {names.begin(), names.end()});
            return fmt::format("{} is one word too many for '{}'; 'ration {} --help' tells more", program::quoted(word),
                               where.get_name(), where.get_name());
        }
        std::vector<std::string> names;
        for (auto const* option : where.get_options())
            for (auto const& name : option->get_lnames()) names.push_back("--" + name);
        return "there is no option " + program::quoted(word) +
               suggestion(word.substr(0, word.find('=')), {names.begin(), names.end()});
    }

    [[nodiscard]] std::vector<std::string> command_names() const {
        std::vector<std::string> names;
        for (auto const* command : app_.get_subcommands({})) names.push_back(command->get_name());
        return names;
    }
};

}  // namespace

command parse_command_line(std::vector<std::string> words, std::vector<std::string> const& policies) {
    return parser(policies).parse(std::move(words));
}

described_program describe_command_line(std::vector<std::string> const& policies) {
    return parser(policies).described();
}

void choose_policies(run_options& options, run_config const& config) {
    auto const& one = options.policy.empty() ? config.policy : options.policy;
    if (!one.empty() && std::ranges::find(options.policies, one) == options.policies.end())
        options.policies.push_back(one);
}

}  // namespace ration::program
