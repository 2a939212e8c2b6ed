// SPDX-License-Identifier: Apache-2.0
package io.tributary.bench;

import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Of all rows read, in whatever order: what two runs that must not differ compare. Wanted with the property
 * store.checksum.
 */
final class Checksum {
    private final AtomicLong sum = new AtomicLong();
    private final boolean wanted;

    Checksum(Properties properties) {
        wanted = Boolean.parseBoolean(properties.getProperty("store.checksum"));
    }

    void add(String key, Map<String, String> row) {
        if (!wanted)
            return;
        long hash = hash(0xcbf29ce484222325L, key);
        for (Map.Entry<String, String> field : new TreeMap<>(row).entrySet())
            hash = hash(hash(hash, field.getKey()), field.getValue());
        sum.addAndGet(hash);
    }

    /** FNV-1a with a mark at the end. */
    private static long hash(long hash, String text) {
        for (int i = 0; i < text.length(); i++)
            hash = (hash ^ text.charAt(i)) * 0x100000001b3L;
        return (hash ^ 0xffff) * 0x100000001b3L;
    }

    /** As one of YCSB's results. */
    void print() {
        if (wanted)
            System.out.println("[CHECKSUM], Sum, " + (sum.get() >>> 16)); // exact in a double
    }
}
