/* SPDX-License-Identifier: Apache-2.0 */
#include "vm/hotspot.h"

#include <errno.h>
#include <string.h>

#include "vm/libjvm.h"

#define FIRST_WITH_VIRTUAL_THREADS 19 /* a preview there and in 20 */

struct fields {
    const char *entry;
    uint64_t type, name, offset, address, stride;
};

struct field {
    uint64_t offset; /* in its object */
    void *address;   /* of a static one */
};

static bool number(const char *name, uint64_t *out) {
    const uint64_t *found = trib_libjvm_symbol(name);

    if (found)
        *out = *found;
    return found != NULL;
}

static bool open_fields(struct fields *out) {
    const char *const *entries = trib_libjvm_symbol("gHotSpotVMStructs");

    out->entry = entries ? *entries : NULL;
    return out->entry && number("gHotSpotVMStructEntryTypeNameOffset", &out->type) &&
           number("gHotSpotVMStructEntryFieldNameOffset", &out->name) &&
           number("gHotSpotVMStructEntryOffsetOffset", &out->offset) &&
           number("gHotSpotVMStructEntryAddressOffset", &out->address) &&
           number("gHotSpotVMStructEntryArrayStride", &out->stride);
}

static const char *text_at(const char *entry, uint64_t offset) {
    const char *text;

    memcpy(&text, entry + offset, sizeof text);
    return text;
}

static bool find(struct fields fields, const char *type, const char *name, struct field *out) {
    for (; text_at(fields.entry, fields.type); fields.entry += fields.stride) {
        const char *field = text_at(fields.entry, fields.name);
        if (strcmp(text_at(fields.entry, fields.type), type) != 0 || !field || strcmp(field, name) != 0)
            continue;
        memcpy(&out->offset, fields.entry + fields.offset, sizeof out->offset);
        memcpy(&out->address, fields.entry + fields.address, sizeof out->address);
        return true;
    }
    return false;
}

static int offset_of(struct fields fields, const char *type, const char *name, int otherwise) {
    struct field field;

    return find(fields, type, name, &field) ? (int)field.offset : otherwise;
}

/* ---- constants and flags ---- */

static bool read_constant(const char *name, int *out) {
    struct {
        const char *name;
        int32_t value;
    } const *constant;
    void *const *table = trib_libjvm_symbol("gHotSpotVMIntConstants");

    for (constant = table ? *table : NULL; constant && constant->name; constant++)
        if (strcmp(constant->name, name) == 0) {
            *out = constant->value;
            return true;
        }
    return false;
}

/* JVMFlag { void *_addr; const char *_name; ... }, an array of numFlags; its stride is the type's size. */
static uint64_t size_of_flag(void) {
    uint64_t name, size, stride, bytes = 0;
    const char *const *types = trib_libjvm_symbol("gHotSpotVMTypes");

    if (!types || !number("gHotSpotVMTypeEntryTypeNameOffset", &name) ||
        !number("gHotSpotVMTypeEntrySizeOffset", &size) || !number("gHotSpotVMTypeEntryArrayStride", &stride))
        return 0;
    for (const char *type = *types; text_at(type, name); type += stride)
        if (strcmp(text_at(type, name), "JVMFlag") == 0)
            memcpy(&bytes, type + size, sizeof bytes);
    return bytes;
}

static bool flag_is_set(struct fields fields, const char *name) {
    struct field flags, count, label, value;
    uint64_t stride = size_of_flag();

    if (!stride || !find(fields, "JVMFlag", "flags", &flags) || !find(fields, "JVMFlag", "numFlags", &count) ||
        !find(fields, "JVMFlag", "_name", &label) || !find(fields, "JVMFlag", "_addr", &value))
        return false;
    const char *flag = *(const char *const *)flags.address;
    for (uint64_t left = *(const uint64_t *)count.address; left && flag; left--, flag += stride) {
        const char *text = text_at(flag, label.offset);
        if (text && strcmp(text, name) == 0)
            return *(const bool *)text_at(flag, value.offset);
    }
    return false;
}

/* ---- all of it ---- */

int trib_hotspot_read(int release, struct trib_hotspot *out) {
    struct trib_hotspot found = {.may_have_virtual_threads = release >= FIRST_WITH_VIRTUAL_THREADS};
    struct fields fields;

    if (!open_fields(&fields) || !read_constant("_thread_in_native", &found.in_native))
        return -ENOTSUP;
    found.thread_state = offset_of(fields, "JavaThread", "_thread_state", 0);
    if (found.thread_state == 0)
        return -ENOTSUP;
    found.continuation = offset_of(fields, "JavaThread", "_cont_entry", -1);
    found.stack_base = offset_of(fields, "JavaThread", "_stack_base", 0);
    found.has_frame_pointers = flag_is_set(fields, "PreserveFramePointer");
    *out = found;
    return 0;
}

static void read_interpreter(struct fields fields, struct trib_hotspot *out) {
    struct field code, start, end;
    int32_t bytes;

    if (!find(fields, "AbstractInterpreter", "_code", &code) || !find(fields, "StubQueue", "_stub_buffer", &start) ||
        !find(fields, "StubQueue", "_buffer_limit", &end))
        return;
    const char *queue = *(const char *const *)code.address;
    if (!queue)
        return;
    memcpy(&bytes, queue + end.offset, sizeof bytes);
    memcpy(&out->interpreter, queue + start.offset, sizeof out->interpreter);
    out->interpreter_end = out->interpreter + (uint32_t)bytes;
}

void trib_hotspot_read_code(struct trib_hotspot *out) {
    struct field low, high;
    struct fields fields;

    if (!open_fields(&fields))
        return;
    read_interpreter(fields, out);
    if (!find(fields, "CodeCache", "_low_bound", &low) || !find(fields, "CodeCache", "_high_bound", &high))
        return;
    out->code = *(const uintptr_t *)low.address;
    out->code_end = *(const uintptr_t *)high.address;
}
