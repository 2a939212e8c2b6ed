// SPDX-License-Identifier: Apache-2.0
#include "common/help.h"

#include "base/nearest.h"
#include "common/table.h"

namespace cli {

namespace {

class NarrowHelp : public CLI::Formatter {
  public:
    std::string make_option(const CLI::Option *option, bool is_positional) const override {
        return row(make_option_name(option, is_positional) + values_of(option), description_of(option, is_positional));
    }
    std::string make_subcommand(const CLI::App *command) const override {
        return row(command->get_display_name(true), command->get_description());
    }
    std::string make_description(const CLI::App *app) const override {
        return app->get_description().empty() ? "" : wrapped("", app->get_description());
    }
    std::string make_footer(const CLI::App *app) const override {
        return app->get_footer().empty() ? "" : wrapped("", app->get_footer());
    }

  private:
    // Of an option that is also a positional one is wanted, not both.
    static bool is_either(const CLI::Option *option) {
        return option->get_positional() && option->nonpositional() && option->get_required();
    }
    std::string description_of(const CLI::Option *option, bool is_positional) const {
        if (!is_either(option))
            return make_option_desc(option);
        const std::string other = is_positional ? "--" + option->get_lnames().front() : option->get_name(true);
        return make_option_desc(option) + "; this or " + other + " is required";
    }
    // A value that may be missing needs the '=': behind a space it could be the next argument.
    std::string values_of(const CLI::Option *option) const {
        const bool is_optional = option->get_items_expected_max() == 1 && option->get_items_expected_min() == 0;
        if (is_either(option))
            return " " + option->get_type_name();
        return is_optional ? "[=" + option->get_type_name() + "]" : make_option_opts(option);
    }
    std::string row(const std::string &name, const std::string &description) const {
        std::string head = "  " + name;
        std::string above;
        if (head.size() >= get_column_width()) {
            above = head + "\n";
            head.clear();
        }
        head.resize(get_column_width(), ' ');
        return description.empty() ? above + "  " + name + "\n" : above + wrapped(head, description);
    }
};

// The command whose line it was.
const CLI::App &innermost(const CLI::App &app) {
    const auto given = app.get_subcommands();
    return given.empty() ? app : innermost(*given.back());
}

std::vector<std::string> names_of(const CLI::App &app) {
    std::vector<std::string> names;
    for (const CLI::Option *option : app.get_options())
        for (const std::string &name : option->get_lnames())
            names.push_back("--" + name);
    for (const CLI::App *command : app.get_subcommands([](const CLI::App *) { return true; }))
        names.push_back(command->get_name());
    return names;
}

std::string path_of(const CLI::App &app) {
    return app.get_parent() ? path_of(*app.get_parent()) + " " + app.get_name() : app.get_name();
}

} // namespace

std::shared_ptr<CLI::Formatter> narrow_help() {
    return std::make_shared<NarrowHelp>();
}

std::string nearest(const std::string &typed, const std::vector<std::string> &words) {
    std::string best;
    for (const std::string &word : words) {
        const bool is_nearer =
            best.empty() || trib_edits(typed.c_str(), word.c_str()) < trib_edits(typed.c_str(), best.c_str());
        if (trib_is_near(typed.c_str(), word.c_str()) && is_nearer)
            best = word;
    }
    return best;
}

std::string usage_sentence(const CLI::App &app, const CLI::ParseError &error) {
    const CLI::App &command = innermost(app);
    const std::vector<std::string> extras = app.remaining(true);
    const std::string see = "ee " + path_of(command) + " --help";
    if (extras.empty())
        return error.what() + ("; s" + see);
    std::string meant;
    for (size_t i = 0; i < extras.size() && meant.empty(); i++)
        meant = nearest(extras[i].substr(0, extras[i].find('=')), names_of(command));
    const bool is_command = command.get_require_subcommand_min() > 0 && extras[0][0] != '-';
    std::string text =
        is_command ? "unknown command '" + extras[0] + "'" : "not expected: " + CLI::detail::join(extras, " ");
    return text + (meant.empty() ? "; s" : "; did you mean " + meant + "? S") + see;
}

} // namespace cli
