// SPDX-License-Identifier: Apache-2.0
#include "common/flags.h"

#include <tributary/policy.h>
#include <vector>

#include "common/failure.h"
#include "common/output_file.h"

namespace cli {

CLI::Option *add_json_option(CLI::App *command, std::optional<std::string> &json) {
    return command
        ->add_option_function<std::vector<std::string>>(
            "--json",
            [&json](const std::vector<std::string> &given) {
                json = given.empty() ? std::string() : given.front();
                check_output("--json", *json, OutputForm::json);
            },
            "Results as JSON, to FILE or alone on standard output")
        ->type_name("FILE")
        ->expected(0, 1)
        ->allow_extra_args(false);
}

void add_policy_packs(CLI::App *command) {
    command
        ->add_option_function<std::vector<std::string>>(
            "--policy-pack",
            [](const std::vector<std::string> &files) {
                for (const std::string &file : files) {
                    trib_error error = {};
                    if (int code = trib_policy_pack_load(file.c_str(), &error))
                        throw core_failure(code, error.text);
                }
            },
            "Policies of this shared object, too (docs/howto/policy-pack.md)")
        ->type_name("FILE")
        ->take_all()
        ->allow_extra_args(false);
}

} // namespace cli
