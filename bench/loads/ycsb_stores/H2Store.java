// SPDX-License-Identifier: Apache-2.0
package io.tributary.bench;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.util.Map;

/** A table of H2 in this process; a connection for each thread of the client. */
public class H2Store extends EmbeddedStore {
    private static String url;
    private static final ThreadLocal<Connection> CONNECTION = ThreadLocal.withInitial(H2Store::connect);

    private static Connection connect() {
        try {
            return DriverManager.getConnection(url);
        } catch (java.sql.SQLException refused) {
            throw new IllegalStateException(refused);
        }
    }

    @Override
    void open(Path folder) throws Exception {
        url = "jdbc:h2:file:" + folder.resolve("store").toAbsolutePath() + ";DB_CLOSE_DELAY=-1";
        try (var statement = CONNECTION.get().createStatement()) {
            statement.execute("CREATE TABLE IF NOT EXISTS usertable (id VARCHAR PRIMARY KEY, fields VARBINARY)");
        }
    }

    @Override
    void close() throws Exception {
        try (var statement = CONNECTION.get().createStatement()) {
            statement.execute("SHUTDOWN");
        }
    }

    @Override
    Map<String, String> get(String key) throws Exception {
        String by_key = "SELECT fields FROM usertable WHERE id = ?";
        try (PreparedStatement select = CONNECTION.get().prepareStatement(by_key)) {
            select.setString(1, key);
            try (ResultSet found = select.executeQuery()) {
                return found.next() ? Rows.row(found.getBytes(1)) : null;
            }
        }
    }

    @Override
    void put(String key, Map<String, String> row) throws Exception {
        String by_key = "MERGE INTO usertable KEY (id) VALUES (?, ?)";
        try (PreparedStatement merge = CONNECTION.get().prepareStatement(by_key)) {
            merge.setString(1, key);
            merge.setBytes(2, Rows.bytes(row));
            merge.executeUpdate();
        }
    }

    @Override
    void remove(String key) throws Exception {
        try (PreparedStatement delete = CONNECTION.get().prepareStatement("DELETE FROM usertable WHERE id = ?")) {
            delete.setString(1, key);
            delete.executeUpdate();
        }
    }
}
