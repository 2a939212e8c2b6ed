// SPDX-License-Identifier: Apache-2.0
package io.tributary;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.stream.Stream;

/** The native agent of this JVM, if there is one. Nothing but {@link #isHere} may be called where there is none. */
final class Native {
    private static final String LIBRARY = "/libtributary-jvm.so";
    private static volatile boolean here = link();

    private Native() {
    }

    static boolean isHere() {
        return here;
    }

    /** The JVM looks for native methods in agents too. A preloaded library is no agent to it and must be named. */
    private static boolean link() {
        try {
            return meet();
        } catch (UnsatisfiedLinkError absent) {
            return loadPreloaded();
        }
    }

    private static boolean loadPreloaded() {
        try (Stream<String> maps = Files.lines(Path.of("/proc/self/maps"))) {
            Optional<String> mapped = maps.filter(line -> line.endsWith(LIBRARY)).findFirst();
            if (mapped.isEmpty())
                return false;
            System.load(mapped.get().substring(mapped.get().indexOf('/')));
            return meet();
        } catch (IOException | UncheckedIOException | UnsatisfiedLinkError | SecurityException absent) {
            return false;
        }
    }

    /** Called by an agent that is attached when this class is there already; it has registered the methods below. */
    private static void attached() {
        here = true;
    }

    /** True: this thread can be asked for its Java frames, and so can others. */
    static native boolean meet();

    /** A number above 0 for a name, the same each time; 0: there is no room for more names. */
    static native int intern(String name);

    /** Tags what this thread writes from now on; 0: nothing. The tag before, or -1: a virtual thread, not tagged. */
    static native int enter(int tag);

    /** Key, value, key, value, ... */
    static native String[] status();

    /** Signature, writes, bytes, signature, writes, bytes, ... */
    static native long[] signatures();

    /** Innermost first, as people read them. */
    static native String[] frames(long signature);

    static native void pause(boolean pause);
}
