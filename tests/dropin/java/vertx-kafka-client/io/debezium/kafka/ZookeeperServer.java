package io.debezium.kafka;

import java.io.File;
import java.util.function.Consumer;

/** Does nothing, because the server under test needs no ZooKeeper. */
public class ZookeeperServer {
    public ZookeeperServer startup() {
        return this;
    }

    public void shutdown(boolean deleteData) {}

    public String getConnection() {
        return "";
    }

    public ZookeeperServer setPort(int port) {
        return this;
    }

    public int getPort() {
        return 0;
    }

    public ZookeeperServer setStateDirectory(File directory) {
        return this;
    }

    File getLogDirectory() {
        return null;
    }

    File getSnapshotDirectory() {
        return null;
    }

    void onEachDirectory(Consumer<File> consumer) {}
}
