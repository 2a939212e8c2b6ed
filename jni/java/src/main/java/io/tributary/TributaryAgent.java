// SPDX-License-Identifier: Apache-2.0
package io.tributary;

import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import javax.management.InstanceAlreadyExistsException;
import javax.management.JMException;
import javax.management.MBeanServer;
import javax.management.ObjectName;

/** Registers the {@link TributaryMXBean}: {@code -javaagent:tributary-agent.jar}, or a call of {@link #register}. */
public final class TributaryAgent implements TributaryMXBean {
    private static final String ABSENT = "the native agent is not in this JVM";

    private TributaryAgent() {
    }

    public static void premain(String ignored) {
        registerOrSay();
    }

    public static void agentmain(String ignored) {
        registerOrSay();
    }

    /** An application runs on without its bean. */
    private static void registerOrSay() {
        try {
            register();
        } catch (JMException refused) {
            System.err.println("tributary: no MXBean: " + refused);
        }
    }

    /** Registers the bean with the platform's server; repeated calls do nothing. */
    public static void register() throws JMException {
        MBeanServer server = ManagementFactory.getPlatformMBeanServer();
        ObjectName name = new ObjectName(NAME);
        try {
            if (!server.isRegistered(name))
                server.registerMBean(new TributaryAgent(), name);
        } catch (InstanceAlreadyExistsException another) {
            return; // thread was faster
        }
    }

    @Override
    public boolean isActive() {
        return Native.isHere();
    }

    @Override
    public Map<String, String> getStatus() {
        Map<String, String> status = new LinkedHashMap<>();
        if (!Native.isHere())
            return status;
        String[] pairs = Native.status();
        for (int i = 0; i + 1 < pairs.length; i += 2)
            status.put(pairs[i], pairs[i + 1]);
        return status;
    }

    private String text(String key) {
        return getStatus().getOrDefault(key, ABSENT);
    }

    private static long count(Map<String, String> status, String key) {
        return Long.parseLong(status.getOrDefault(key, "0"));
    }

    @Override
    public String getJavaFrames() {
        return text("java-frames");
    }

    @Override
    public String getFastPath() {
        return text("fast");
    }

    @Override
    public long getWrites() {
        return count(getStatus(), "writes");
    }

    @Override
    public double getCoverage() {
        Map<String, String> status = getStatus();
        long covered = count(status, "with-java-frames") + count(status, "mapped");
        return (double) covered / Math.max(1, count(status, "writes"));
    }

    @Override
    public long getEventsDropped() {
        return count(getStatus(), "dropped");
    }

    @Override
    public long getWrittenBytes() {
        return count(getStatus(), "written-bytes");
    }

    @Override
    public List<CallPath> getCallPaths() {
        List<CallPath> paths = new ArrayList<>();
        long[] rows = Native.isHere() ? Native.signatures() : new long[0];
        for (int i = 0; i + 2 < rows.length; i += 3)
            paths.add(new CallPath(String.format("%016x", rows[i]), rows[i + 1], rows[i + 2],
                                   List.of(Native.frames(rows[i]))));
        paths.sort(Comparator.comparingLong(CallPath::getBytes).reversed());
        return paths;
    }

    @Override
    public void pause() {
        if (Native.isHere())
            Native.pause(true);
    }

    @Override
    public void resume() {
        if (Native.isHere())
            Native.pause(false);
    }
}
