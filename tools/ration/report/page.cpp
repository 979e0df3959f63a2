// SPDX-License-Identifier: BSL-1.0
#include "report/page.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "common/printable.hpp"
#include "common/version_text.hpp"
#include "events/bounded_writer.hpp"
#include "report/assets.hpp"
#include "report/run_json.hpp"

namespace ration::program {
namespace {

/// The page may use what is in it, and nothing else.
constexpr std::string_view head = R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<link rel="icon" href="data:,">
)";
constexpr std::string_view body =
    R"(</head><body><main id="page"><noscript><p>This page draws itself: allow its scripts. They send no requests.</p></noscript></main>
)";

[[nodiscard]] std::string title_of(report_input const& input) {
    if (input.runs.empty()) return "A simulation by ration";
    auto const labels = labels_of(input.runs);
    std::string title = labels.size() == 1 ? "A run under " : "Runs under ";
    for (std::size_t i = 0; i < std::min<std::size_t>(labels.size(), 6); ++i) title += (i == 0 ? "" : ", ") + labels[i];
    return title + (labels.size() > 6 ? ", ..." : "");
}

[[nodiscard]] std::string data_of(report_input& input) {
    std::string out;
    json_writer json(out, steering_text::replaced);
    json.object([&] {
        json.member("version", version_text());
        json.member("title", title_of(input));
        json.key("remarks").array([&] {
            for (auto const& remark : input.remarks) json.value(remark);
            if (!has_charts()) json.value("T" + std::string(how_to_get_charts.substr(1)) + ".");
        });
        json.key("comparison");
        write_comparison(json, input.runs);
        json.key("runs");
        write_runs(json, input.runs);
        json.key("simulations").array([&] {
            for (auto const& one : input.simulations) json.value(one.file);
        });
    });
    return out;
}

[[nodiscard]] std::string dumped(nlohmann::ordered_json const& json) {
    return printable(json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

[[nodiscard]] std::string array_of(std::vector<simulation_record> const& all,
                                   nlohmann::ordered_json simulation_record::* which) {
    std::string out = "[";
    for (auto const& one : all) out += (out.size() > 1 ? "," : "") + dumped(one.*which);
    return out + "]";
}

[[nodiscard]] std::string data_element(std::string_view id, std::string_view json) {
    return fmt::format("<script type=\"application/json\" id=\"{}\">{}</script>\n", id, for_script(json));
}

/// 0, or the errno of the write that failed.
[[nodiscard]] int write_all(process::descriptor const& file, std::string_view text) noexcept {
    ::fcntl(file.get(), F_SETFL, 0);  // a pipe that has a reader takes the page at the reader's speed
    while (!text.empty()) {
        ssize_t const wrote = ::write(file.get(), text.data(), text.size());
        if (wrote < 0 && errno != EINTR) return errno;
        if (wrote > 0) text.remove_prefix(static_cast<std::size_t>(wrote));
    }
    return 0;
}

}  // namespace

std::string escaped(std::string_view text) {
    std::string out;
    for (char const c : text) {
        switch (c) {
            case '&': out += "&amp;"; break;
            case '<': out += "&lt;"; break;
            case '>': out += "&gt;"; break;
            case '"': out += "&quot;"; break;
            case '\'': out += "&#39;"; break;
            default: out += c;
        }
    }
    return out;
}

std::string for_script(std::string_view json) {
    std::string out;
    out.reserve(json.size());
    for (char const c : json)
        if (c == '<')
            out += "\\u003c";
        else
            out += c;
    return out;
}

bool has_charts() noexcept { return !page_assets().chart_library.empty(); }

std::string report_page(report_input input) {
    auto const& assets = page_assets();
    std::string page(head);
    page += fmt::format("<title>{}</title>\n<style>\n{}</style>\n", escaped(printable(title_of(input))), assets.style);
    page += body;
    page += data_element("simulations", array_of(input.simulations, &simulation_record::figures));
    page += "<!-- measured -->" + data_element("measured", array_of(input.simulations, &simulation_record::measured)) +
            "<!-- /measured -->\n";
    page += data_element("data", data_of(input));
    if (has_charts())
        page += fmt::format("<script type=\"text/plain\" id=\"licence\">{}</script>\n<script>\n{}\n</script>\n",
                            assets.licence, assets.chart_library);
    return page + fmt::format("<script>\n{}</script>\n</body></html>\n", assets.script);
}

bool write_page(std::string const& page, std::string const& path, std::string_view option) {
    auto const file = open_for_writing(path);
    int const why = file ? write_all(*file, page) : file.failure().system;
    if (why != 0)
        std::fprintf(stderr, "ration: %s: %s cannot be written (%s); name a file in a folder that may be written\n",
                     std::string(option).c_str(), printable(path).c_str(), std::strerror(why));
    return why == 0;
}

}  // namespace ration::program
