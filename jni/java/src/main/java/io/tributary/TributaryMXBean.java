// SPDX-License-Identifier: Apache-2.0
package io.tributary;

import java.util.List;
import java.util.Map;

/** What the native agent sees, as {@code io.tributary:type=Tributary}. Without that agent all counts are 0. */
public interface TributaryMXBean {
    String NAME = "io.tributary:type=Tributary";

    /** Whether the native agent is in this JVM. */
    boolean isActive();

    /** "on", or why call paths have no Java frames. */
    String getJavaFrames();

    /** "on", or why frame pointers are not used. */
    String getFastPath();

    /** Writes to regular files that were recorded; ranges of mapped files count as one each. */
    long getWrites();

    /** Share of the writes, 0 to 1, that have a call path of Java methods, or go by who mapped their file. */
    double getCoverage();

    /** Events that did not reach the pipeline because its ring was full. */
    long getEventsDropped();

    long getWrittenBytes();

    /** All that the agent counts, by name. */
    Map<String, String> getStatus();

    /** Who writes, most bytes first. */
    List<CallPath> getCallPaths();

    /** Nothing is recorded until {@link #resume}; what has been learned stays. */
    void pause();

    void resume();
}
