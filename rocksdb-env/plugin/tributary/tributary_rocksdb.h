/* SPDX-License-Identifier: Apache-2.0 */
/* What a program that links the plugin, or finds it with dlsym, may ask of it.
 * Plain C. Thread-safe. */
#ifndef TRIBUTARY_ROCKSDB_H
#define TRIBUTARY_ROCKSDB_H

#ifdef __cplusplus
extern "C" {
#endif

/* Like DB::GetProperty, for a file system that the plugin made. Waits until
 * every write reported so far is accounted.
 *
 * file_system: a rocksdb::FileSystem * (db->GetFileSystem()); it is compared,
 * never followed. NULL: the pipeline that was opened first. name:
 * "tributary.status" (lines for people), "tributary.stats" (one JSON object) or
 * "tributary.options" (the options in force). text: receives a string for the
 * caller to free(); written on success only.
 *
 * 0; -ENOENT (not a file system of this plugin, nothing opened yet, or an
 * unknown name); -ENOMEM. */
__attribute__((visibility("default"))) int TributaryGetProperty(
    const void *file_system, const char *name, char **text);

#ifdef __cplusplus
}
#endif
#endif
