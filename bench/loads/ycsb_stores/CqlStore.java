// SPDX-License-Identifier: Apache-2.0
package io.tributary.bench;

import com.datastax.driver.core.BoundStatement;
import com.datastax.driver.core.Cluster;
import com.datastax.driver.core.PreparedStatement;
import com.datastax.driver.core.Row;
import com.datastax.driver.core.Session;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.Vector;
import site.ycsb.ByteIterator;
import site.ycsb.DB;
import site.ycsb.DBException;
import site.ycsb.Status;
import site.ycsb.StringByteIterator;

/**
 * YCSB on one table of one Cassandra node; all threads of the client share a session. Properties: cql.port,
 * cql.table.with, store.checksum.
 */
public class CqlStore extends DB {
    private static final Object LOCK = new Object();
    private static int users;
    private static Cluster cluster;
    private static Session session;
    private static PreparedStatement insert, select, delete;
    private static final Map<String, PreparedStatement> UPDATES = new HashMap<>();
    private static int fields;
    private static Checksum checksum;

    @Override
    public void init() throws DBException {
        synchronized (LOCK) {
            if (users++ > 0)
                return;
            fields = Integer.parseInt(getProperties().getProperty("fieldcount", "10"));
            checksum = new Checksum(getProperties());
            int port = Integer.parseInt(getProperties().getProperty("cql.port"));
            cluster = Cluster.builder().addContactPoint("127.0.0.1").withPort(port).withoutJMXReporting().build();
            session = cluster.connect();
            session.execute("CREATE KEYSPACE IF NOT EXISTS ycsb WITH replication = "
                            + "{'class': 'SimpleStrategy', 'replication_factor': 1}");
            prepare(getProperties().getProperty("cql.table.with", ""));
        }
    }

    private static void prepare(String with) {
        StringBuilder columns = new StringBuilder(), names = new StringBuilder(), marks = new StringBuilder();
        for (int i = 0; i < fields; i++) {
            columns.append(", field").append(i).append(" text");
            names.append(", field").append(i);
            marks.append(", ?");
        }
        session.execute("CREATE TABLE IF NOT EXISTS ycsb.usertable (y_id text PRIMARY KEY" + columns + ")"
                        + (with.isEmpty() ? "" : " WITH " + with));
        insert = session.prepare("INSERT INTO ycsb.usertable (y_id" + names + ") VALUES (?" + marks + ")");
        select = session.prepare("SELECT * FROM ycsb.usertable WHERE y_id = ?");
        delete = session.prepare("DELETE FROM ycsb.usertable WHERE y_id = ?");
        for (int i = 0; i < fields; i++)
            UPDATES.put("field" + i, session.prepare("UPDATE ycsb.usertable SET field" + i + " = ? WHERE y_id = ?"));
    }

    @Override
    public void cleanup() {
        synchronized (LOCK) {
            if (--users > 0)
                return;
            cluster.close();
            checksum.print();
        }
    }

    @Override
    public Status read(String table, String key, Set<String> wanted, Map<String, ByteIterator> result) {
        Row row = session.execute(select.bind(key)).one();
        if (row == null)
            return Status.NOT_FOUND;
        Map<String, String> found = new HashMap<>();
        for (int i = 0; i < fields; i++)
            found.put("field" + i, row.getString("field" + i));
        checksum.add(key, found);
        for (Map.Entry<String, String> field : found.entrySet())
            if (wanted == null || wanted.contains(field.getKey()))
                result.put(field.getKey(), new StringByteIterator(field.getValue()));
        return Status.OK;
    }

    @Override
    public Status scan(String table, String from, int count, Set<String> wanted,
                       Vector<HashMap<String, ByteIterator>> result) {
        return Status.NOT_IMPLEMENTED;
    }

    @Override
    public Status update(String table, String key, Map<String, ByteIterator> values) {
        for (Map.Entry<String, ByteIterator> value : values.entrySet())
            session.execute(UPDATES.get(value.getKey()).bind(value.getValue().toString(), key));
        return Status.OK;
    }

    @Override
    public Status insert(String table, String key, Map<String, ByteIterator> values) {
        BoundStatement bound = insert.bind();
        bound.setString(0, key);
        for (Map.Entry<String, ByteIterator> value : values.entrySet())
            bound.setString(value.getKey(), value.getValue().toString());
        session.execute(bound);
        return Status.OK;
    }

    @Override
    public Status delete(String table, String key) {
        session.execute(delete.bind(key));
        return Status.OK;
    }
}
