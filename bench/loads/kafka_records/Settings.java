// SPDX-License-Identifier: Apache-2.0
package io.tributary.bench;

import java.util.Map;
import java.util.TreeMap;

/** What the script asks for, as KEY=VALUE. */
final class Settings {
    private final Map<String, String> values = new TreeMap<>();
    final String servers;
    final int partitions, keys;

    Settings(String[] arguments) {
        for (String pair : arguments)
            values.put(pair.substring(0, pair.indexOf('=')), pair.substring(pair.indexOf('=') + 1));
        servers = text("servers");
        partitions = (int) number("partitions");
        keys = (int) number("keys");
    }

    String text(String key) {
        if (!values.containsKey(key))
            throw new IllegalArgumentException(key + "= is missing");
        return values.get(key);
    }

    long number(String key) {
        return Long.parseLong(text(key));
    }

    Records records() {
        return new Records(number("seed"), keys, (int) number("value-bytes"));
    }
}
