/* SPDX-License-Identifier: Apache-2.0 */
#include "status.h"

#include <inttypes.h>
#include <stdarg.h>

#include "identify.h"
#include "life.h"
#include "shim.h"
#include "tally.h"
#include "vm/vm.h"

struct list {
    struct trib_jvm_status *status;
    unsigned count;
};

__attribute__((format(printf, 3, 4))) static void say(struct list *list, const char *key, const char *format, ...) {
    va_list values;

    va_start(values, format);
    list->status->pair[list->count].key = key;
    vsnprintf(list->status->pair[list->count++].value, sizeof list->status->pair->value, format, values);
    va_end(values);
}

static void say_counts(struct list *list, const struct trib_jvm_counts *counts) {
    const struct {
        const char *key;
        uint64_t value;
    } numbers[] = {{"writes", counts->writes},
                   {"with-java-frames", counts->java},
                   {"mapped", counts->mapped},
                   {"pieces", counts->pieces},
                   {"asked-jvmti", counts->asked},
                   {"fast-writes", counts->hits},
                   {"checked", counts->checked},
                   {"wrong", counts->wrong},
                   {"signatures-not-listed", counts->signatures_lost}};

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        say(list, numbers[i].key, "%" PRIu64, numbers[i].value);
    say(list, "fast-ns", "%.0f", counts->fast_median_ns);
    say(list, "fast-ns-p99", "%.0f", counts->fast_p99_ns);
    say(list, "asked-ns", "%.0f", counts->asked_median_ns);
    say(list, "asked-ns-p99", "%.0f", counts->asked_p99_ns);
}

static void say_pipeline(struct list *list, const struct trib_status *status) {
    say(list, "policy", "%s", status->policy);
    say(list, "drive", "%s", status->drive);
    say(list, "events", "%" PRIu64, status->events);
    say(list, "dropped", "%" PRIu64, status->events_dropped);
    say(list, "written-bytes", "%" PRIu64, status->clock_bytes);
    say(list, "trace-bytes", "%" PRIu64, status->trace_bytes);
    if (status->trace_stopped[0])
        say(list, "trace-stopped", "%s", status->trace_stopped);
}

unsigned trib_jvm_status_read(struct trib_jvm_status *out) {
    struct list list = {.status = out};
    struct trib_jvm_counts counts;
    struct trib_status status = {.policy = ""};

    trib_jvm_count(&counts);
    say(&list, "jvm", "%s", trib_vm.version[0] ? trib_vm.version : "unknown");
    say(&list, "java-frames", "%s", trib_life_java_frames());
    say(&list, "fast", "%s", counts.is_fast ? "on" : counts.why_slow);
    say_counts(&list, &counts);
    const char *unseen = trib_shim_unseen();
    say(&list, "stdio", "%s%s", unseen ? "unseen: " : "seen", unseen ? unseen : "");
    if (trib_shim_status(&status))
        say_pipeline(&list, &status);
    return list.count;
}

void trib_jvm_status_print(FILE *out) {
    struct trib_jvm_status status;
    unsigned count = trib_jvm_status_read(&status);

    for (unsigned i = 0; i < count; i++)
        fprintf(out, "tributary: %s %s\n", status.pair[i].key, status.pair[i].value);
}

void trib_jvm_frame_text(const struct trib_frame *frame, char *text, size_t capacity) {
    struct trib_module module;

    if (trib_signature_module(frame->module, &module) == 0)
        trib_signature_frame_text(&module, frame->offset_bytes, text, capacity);
    else
        snprintf(text, capacity, "(unknown)");
}

static void print_signature(void *arg, uint64_t signature, uint64_t writes, uint64_t bytes) {
    struct trib_frame frames[TRIB_SIGNATURE_DEPTH_MAX];
    unsigned count = trib_signature_frames(signature, frames, TRIB_SIGNATURE_DEPTH_MAX);
    char text[512];
    FILE *out = arg;

    fprintf(out, "%016" PRIx64 " writes %" PRIu64 " bytes %" PRIu64 "\n", signature, writes, bytes);
    for (unsigned i = 0; i < count; i++) {
        trib_jvm_frame_text(&frames[i], text, sizeof text);
        fprintf(out, "    %s\n", text);
    }
}

void trib_jvm_signatures_print(FILE *out) {
    trib_tally_visit(print_signature, out);
}
