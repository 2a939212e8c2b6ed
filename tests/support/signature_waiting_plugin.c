/* SPDX-License-Identifier: Apache-2.0 */
/* A library whose constructor waits for the program that opens it: the loader's lock is held meanwhile. */
void signature_plugin_loading(void); /* the program's */

__attribute__((constructor)) static void load(void) {
    signature_plugin_loading();
}
