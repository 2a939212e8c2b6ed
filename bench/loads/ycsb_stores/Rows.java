// SPDX-License-Identifier: Apache-2.0
package io.tributary.bench;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

/** Rows as bytes, for stores that know keys and values only: length and text of every name and every value. */
final class Rows {
    private Rows() {
    }

    static byte[] bytes(Map<String, String> row) {
        ByteBuffer out = ByteBuffer.allocate(row.entrySet().stream().mapToInt(Rows::most).sum());
        for (Map.Entry<String, String> field : row.entrySet()) {
            put(out, field.getKey());
            put(out, field.getValue());
        }
        byte[] bytes = new byte[out.position()];
        out.flip().get(bytes);
        return bytes;
    }

    static Map<String, String> row(byte[] bytes) {
        Map<String, String> row = new HashMap<>();
        for (ByteBuffer in = ByteBuffer.wrap(bytes); in.hasRemaining();)
            row.put(text(in), text(in));
        return row;
    }

    private static int most(Map.Entry<String, String> field) {
        return 8 + 3 * (field.getKey().length() + field.getValue().length());
    }

    private static void put(ByteBuffer out, String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        out.putInt(bytes.length).put(bytes);
    }

    private static String text(ByteBuffer in) {
        byte[] bytes = new byte[in.getInt()];
        in.get(bytes);
        return new String(bytes, StandardCharsets.UTF_8);
    }
}
