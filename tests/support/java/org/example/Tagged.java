// SPDX-License-Identifier: Apache-2.0
package org.example;

import io.tributary.CallPath;
import io.tributary.Tributary;
import io.tributary.TributaryAgent;
import io.tributary.TributaryMXBean;
import java.io.RandomAccessFile;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import javax.management.JMX;
import javax.management.ObjectName;

/** Writes by one path with tags and without, and prints what the bean says. */
public class Tagged {
    private static final int BYTES = 4096;
    private static String folder;
    private static RandomAccessFile mapped;

    private static void write(FileChannel channel) throws Exception {
        channel.write(ByteBuffer.allocateDirect(BYTES));
    }

    private static FileChannel open(String folder, String name) throws Exception {
        return FileChannel.open(Path.of(folder, name), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
    }

    private static void store(String folder) throws Exception {
        try (FileChannel plain = open(folder, "plain"); FileChannel orders = open(folder, "orders");
             FileChannel deep = open(folder, "deep")) {
            for (int i = 0; i < 100; i++) {
                try (Tributary.Tag table = Tributary.tag("orders")) {
                    write(orders);
                    try (Tributary.Tag level = Tributary.tag("orders", 6)) {
                        write(deep);
                    }
                    write(orders);
                }
                write(plain);
            }
        }
    }

    private static void printBean() throws Exception {
        TributaryAgent.register();
        TributaryMXBean bean = JMX.newMXBeanProxy(ManagementFactory.getPlatformMBeanServer(),
                                                  new ObjectName(TributaryMXBean.NAME), TributaryMXBean.class);
        long frames = bean.getCallPaths().stream().map(CallPath::getFrames)
                          .filter(list -> list.contains("#orders:6")).count();
        System.out.println("active " + bean.isActive() + " frames " + bean.getJavaFrames() + " paths " + frames
                           + " covered " + (bean.getCoverage() > 0.9) + " written " + (bean.getWrites() >= 400));
        writeOnePage(bean);
    }

    /** Of a file that was mapped before a pause, and is not touched otherwise. */
    private static void writeOnePage(TributaryMXBean bean) throws Exception {
        mapped = new RandomAccessFile(folder + "/mapped", "rw"); // stays open: of a closed one all pages count
        mapped.setLength(64 * BYTES);
        MappedByteBuffer map = mapped.getChannel().map(FileChannel.MapMode.READ_WRITE, 0, 64 * BYTES);
        bean.pause();
        bean.resume();
        map.put(0, (byte) 1);
        map.force();
    }

    /** folder, seconds to wait for somebody who attaches */
    public static void main(String[] arguments) throws Exception {
        folder = arguments[0];
        Files.write(Path.of(folder, "ready"), new byte[0]);
        long end = System.nanoTime() + Long.parseLong(arguments[1]) * 1000000000L;
        while (!Tributary.isActive() && System.nanoTime() < end)
            Thread.sleep(20);
        store(folder);
        for (int i = 0; i < 2000; i++) // more names than there is room for
            Tributary.tag("name", i).close();
        printBean();
    }
}
