// SPDX-License-Identifier: Apache-2.0
#include "inspect/catalog.h"

#include <fmt/format.h>
#include <memory>
#include <thread>
#include <tributary/drive.h>
#include <tributary/policy.h>

#include "common/failure.h"
#include "common/json.h"
#include "common/option_text.h"
#include "common/table.h"
#include "import/import.h"
#include "inspect/option_list.h"
#include "pipeline_options.h"
#include "source/source.h"
#include "workload/workload.h"
#include "wrap/trial.h"

namespace cli {

namespace {

std::string needs_text(uint32_t needs) {
    static const struct {
        uint32_t need;
        const char *name;
    } names[] = {{TRIB_NEEDS_SIGNATURE, "call paths"},    {TRIB_NEEDS_KIND, "file kinds"},
                 {TRIB_NEEDS_HINT, "write hints"},        {TRIB_NEEDS_LEVEL, "levels"},
                 {TRIB_NEEDS_LBA, "block addresses"},     {TRIB_NEEDS_TRIM, "trim"},
                 {TRIB_NEEDS_VSTREAM, "virtual streams"}, {TRIB_NEEDS_ANY_NAME, "any name of data"},
                 {TRIB_NEEDS_FUTURE, "the future"}};
    std::string text;
    for (const auto &name : names)
        if (needs & name.need)
            text += (text.empty() ? "" : ", ") + std::string(name.name);
    return text.empty() ? "nothing" : text;
}

struct OptionsClose {
    void operator()(trib_options *options) const {
        trib_options_close(options);
    }
};

// A drive opened for its description only.
class OpenDrive {
  public:
    OpenDrive(const trib_drive &drive, const OptionText &text) : drive_(drive) {
        trib_options *given = nullptr;
        trib_error error = {};
        int rc = trib_options_open(&given, text.text().c_str(), &error);
        std::unique_ptr<trib_options, OptionsClose> options(given);
        trib_drive_env env = {};
        env.drive = &drive;
        env.streams = STREAMS_OFFERED;
        if (rc == 0)
            rc = drive.open(&self_, &env, given, &error);
        if (rc == 0 && (rc = trib_options_finish(given, &error)) != 0)
            drive.close(self_);
        if (rc)
            throw core_failure(rc, error.text);
    }
    ~OpenDrive() {
        drive_.close(self_);
    }
    OpenDrive(const OpenDrive &) = delete;
    OpenDrive &operator=(const OpenDrive &) = delete;

    trib_drive_description description() const {
        trib_drive_description description = {};
        drive_.describe(self_, &description);
        return description;
    }

  private:
    static constexpr uint32_t STREAMS_OFFERED = 63; // what a pipeline may ask for at most: shows what the drive has
    const trib_drive &drive_;
    void *self_ = nullptr;
};

Json json_description(const trib_drive &drive, const trib_drive_description &d) {
    return {{"version", COMPARE_JSON_VERSION},
            {"command", "drive"},
            {"name", d.name},
            {"summary", drive.summary},
            {"capacity_bytes", d.capacity_bytes},
            {"physical_bytes", d.physical_bytes},
            {"over_provisioning_percent", d.over_provisioning_percent},
            {"reclaim_unit_bytes", d.reclaim_unit_bytes},
            {"reclaim_units", d.reclaim_units},
            {"streams", d.streams},
            {"gc", d.gc},
            {"victim", d.victim},
            {"level", trib_placement_name(d.level)},
            {"evidence", d.evidence},
            {"options", options_json(drive.options)}};
}

void print_description(const trib_drive &drive, const trib_drive_description &d) {
    fmt::print("{}", wrapped("name              ", d.name));
    fmt::print("{}", wrapped("summary           ", drive.summary));
    fmt::print("exported          {} ({} bytes)\n", size_text(static_cast<double>(d.capacity_bytes)),
               grouped(d.capacity_bytes));
    fmt::print("physical          {}, {:.1f} % over-provisioned\n", size_text(static_cast<double>(d.physical_bytes)),
               d.over_provisioning_percent);
    fmt::print("reclaim units     {} of {}\n", grouped(d.reclaim_units),
               size_text(static_cast<double>(d.reclaim_unit_bytes)));
    fmt::print("streams           {} besides S0\n", d.streams);
    if (*d.gc)
        fmt::print("collection        gc={}, victim={}\n", d.gc, d.victim);
    fmt::print("{}", wrapped("placement         ", fmt::format("{}: {}", trib_placement_name(d.level), d.evidence)));
    fmt::print("\noptions\n{}", options_text(drive.options));
}

} // namespace

// Rows that comparisons show (tributary/policy.h).
static Json variants_json(const trib_policy &policy) {
    Json list = Json::array();
    for (const trib_policy_variant *v = policy.variants; v && v->options; v++)
        list.push_back({{"options", v->options},
                        {"first_table", (v->use & TRIB_VARIANT_FIRST_TABLE) != 0},
                        {"matrix", (v->use & TRIB_VARIANT_MATRIX) != 0},
                        {"best_of", (v->use & TRIB_VARIANT_BEST_OF) != 0},
                        {"stands_out", (v->use & TRIB_VARIANT_STANDS_OUT) != 0}});
    return list;
}

void list_policies(Form form) {
    Json list = Json::array();
    for (const trib_policy *const *policy = trib_policies(); *policy; policy++) {
        const trib_policy &p = **policy;
        if (form == Form::names) {
            fmt::print("{}\n", p.name);
        } else if (form == Form::json) {
            list.push_back({{"name", p.name},
                            {"summary", p.summary},
                            {"needs", needs_text(trib_policy_needs(&p, nullptr))},
                            {"gc", p.gc ? Json(p.gc) : Json(nullptr)},
                            {"variants", variants_json(p)},
                            {"options", options_json(p.options)}});
        } else {
            fmt::print("{}", wrapped(fmt::format("{:<18} ", p.name), p.summary));
            fmt::print("{}", wrapped(std::string(19, ' '), "needs " + needs_text(trib_policy_needs(&p, nullptr)) +
                                                               (p.gc ? "; own gc " + std::string(p.gc) : "")));
            fmt::print("{}\n", options_text(p.options));
        }
    }
    if (form == Form::json)
        write_json({{"version", COMPARE_JSON_VERSION}, {"command", "policies"}, {"policies", list}}, "");
}

// The values of a drive's option `preset`, or none.
static Json presets_of(const trib_drive &drive) {
    for (const Json &option : options_json(drive.options))
        if (option["key"] == "preset")
            return option["choices"];
    return Json::array();
}

void list_drives(Form form) {
    Json list = Json::array();
    for (const trib_drive *const *drive = trib_drives(); *drive; drive++) {
        Json presets = presets_of(**drive);
        if (form == Form::names) {
            fmt::print("{}\n", (*drive)->name);
        } else if (form == Form::json) {
            list.push_back({{"name", (*drive)->name}, {"summary", (*drive)->summary}, {"presets", presets}});
        } else {
            fmt::print("{}", wrapped(fmt::format("{:<18} ", (*drive)->name), (*drive)->summary));
            std::string names;
            for (const Json &preset : presets)
                names += (names.empty() ? "presets: " : ", ") + preset.get<std::string>();
            if (!names.empty())
                fmt::print("{}", wrapped(std::string(19, ' '), names));
        }
    }
    if (form == Form::json)
        write_json({{"version", COMPARE_JSON_VERSION}, {"command", "drive"}, {"drives", list}}, "");
}

void describe_drive(const std::string &name, const std::vector<std::string> &options, bool json) {
    trib_error error = {};
    const trib_drive *drive = trib_drive_find(name.c_str(), &error);
    if (!drive)
        throw Failure(EXIT_USAGE, error.text);
    OptionText text;
    for (const std::string &more : options)
        text.merge(more);
    trib_drive_description description = OpenDrive(*drive, text).description();
    if (json)
        write_json(json_description(*drive, description), "");
    else
        print_description(*drive, description);
}

void list_workloads(Form form) {
    Json list = Json::array(), formats = Json::array();
    for (const trib_workload_kind *const *kind = trib_workloads; *kind; kind++) {
        const trib_workload_kind &w = **kind;
        if (form == Form::names)
            fmt::print("{}\n", w.name);
        else if (form == Form::json)
            list.push_back({{"name", w.name}, {"summary", w.summary}, {"options", options_json(w.options)}});
        else
            fmt::print("{}", wrapped(fmt::format("{:<18} ", w.name), w.summary));
    }
    if (form == Form::text)
        fmt::print("\nreaders of public traces (--format)\n");
    for (const trib_import_format *const *format = trib_import_formats; *format; format++) {
        if (form == Form::json)
            formats.push_back({{"name", (*format)->name}, {"summary", (*format)->summary}});
        else if (form == Form::text)
            fmt::print("{}", wrapped(fmt::format("{:<18} ", (*format)->name), (*format)->summary));
    }
    if (form == Form::json)
        write_json(
            {{"version", COMPARE_JSON_VERSION}, {"command", "workloads"}, {"workloads", list}, {"formats", formats}},
            "");
}

void list_options(Form form) {
    Json json = {{"version", COMPARE_JSON_VERSION}, {"command", "options"}};
    auto section = [&](const std::string &group, const std::string &name, const trib_option_spec *specs) {
        std::string title = name.empty() ? group : group + " " + name;
        if (form == Form::json)
            (name.empty() ? json[group] : json[group][name]) = options_json(specs);
        else if (!specs || !specs->key)
            fmt::print(form == Form::markdown ? "### {}\n\nNo options of its own.\n\n" : "{}: none\n\n", title);
        else if (form == Form::markdown)
            fmt::print("### {}\n\n{}\n", title, options_markdown(specs));
        else
            fmt::print("{}\n{}\n", title, options_text(specs));
    };
    section("pipeline", "", trib_pipeline_options);
    section("replay", "", trib_trial_options);
    for (const trib_policy *const *policy = trib_policies(); *policy; policy++)
        section("policy", (*policy)->name, (*policy)->options);
    for (const trib_drive *const *drive = trib_drives(); *drive; drive++)
        section("drive", (*drive)->name, (*drive)->options);
    section("workload", "(any)", trib_workload_options);
    for (const trib_workload_kind *const *kind = trib_workloads; *kind; kind++)
        section("workload", (*kind)->name, (*kind)->options);
    section("import", "", trib_import_options);
    section("trace", "", trace_reading_options);
    if (form == Form::json)
        write_json(json, "");
}

void list_values(const std::string &key) {
    std::string lines;
    for (const trib_drive *const *drive = trib_drives(); *drive; drive++)
        for (const Json &option : options_json((*drive)->options))
            if (option["key"] == key)
                for (const Json &choice : option["choices"])
                    lines += choice.get<std::string>() + "\n";
    if (lines.empty())
        throw Failure(EXIT_USAGE, "no drive has an option '" + key + "' with a list of values; see trib options");
    fmt::print("{}", lines);
}

void print_version(bool json) {
#ifdef TRIB_NO_HOT_ASSERT
    const char *assertions = "on, without those of inner loops";
#else
    const char *assertions = "on, with those of inner loops";
#endif
#ifdef __OPTIMIZE__
    bool optimised = true;
#else
    bool optimised = false;
#endif
    if (json) {
        write_json({{"version", COMPARE_JSON_VERSION},
                    {"command", "version"},
                    {"tributary", trib_version()},
                    {"compiler", TRIB_COMPILER},
                    {"build_type", TRIB_BUILD_TYPE},
                    {"optimised", optimised},
                    {"assertions", assertions},
                    {"trace_format", TRIB_TRACE_VERSION}},
                   "");
        return;
    }
    fmt::print("trib {}\ncompiler    {}\nbuild type  {}{}\nassertions  {}\ntrace       format {}\n", trib_version(),
               TRIB_COMPILER, TRIB_BUILD_TYPE, optimised ? "" : " (not optimised: timings mean nothing)", assertions,
               TRIB_TRACE_VERSION);
}

} // namespace cli
