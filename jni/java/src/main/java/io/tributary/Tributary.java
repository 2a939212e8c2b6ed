// SPDX-License-Identifier: Apache-2.0
package io.tributary;

import java.util.concurrent.ConcurrentHashMap;

/**
 * What an application can add to its call paths. No call path carries the table, the column family or the level that a
 * write is for: a compaction of the last level looks like one of the first. A tag says it:
 *
 * <pre>{@code
 * try (Tributary.Tag tag = Tributary.tag("orders", level)) {
 *     channel.write(buffer);
 * }
 * }</pre>
 *
 * Writes in the block have a signature of their own, the same in every run. Costs some ten nanoseconds with the native
 * agent (libtributary-jvm.so), one read of a field without, and never throws but for {@code null}. Up to 1000 names;
 * what is beyond is not tagged. A virtual thread is not tagged: it may change its carrier between tag and write.
 */
public final class Tributary {
    private static final ConcurrentHashMap<String, Integer> NAMES = new ConcurrentHashMap<>();

    private Tributary() {
    }

    /** Whether the native agent is in this JVM. */
    public static boolean isActive() {
        return Native.isHere();
    }

    /** Tags what the calling thread writes until the tag is closed, by the same thread, innermost first. */
    public static Tag tag(String name) {
        if (!Native.isHere())
            return Tag.NONE;
        Integer known = NAMES.get(name);
        int before = Native.enter(known != null ? known : intern(name));
        return before < 0 ? Tag.NONE : new Tag(before);
    }

    /** The same for one level, tier or shard of many: a tag by the name of "name:level". */
    public static Tag tag(String name, int level) {
        return Native.isHere() ? tag(name + ":" + level) : Tag.NONE;
    }

    private static int intern(String name) {
        int number = Native.intern(name);
        if (number > 0)
            NAMES.put(name, number);
        return number;
    }

    /** Ends with {@link #close}; then the tag around it holds again. */
    public static final class Tag implements AutoCloseable {
        static final Tag NONE = new Tag(-1);
        private int before;

        private Tag(int before) {
            this.before = before;
        }

        @Override
        public void close() {
            if (before < 0)
                return;
            Native.enter(before);
            before = -1; // twice is once
        }
    }
}
