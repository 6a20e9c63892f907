package io.debezium.kafka;

import java.io.File;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.TopicListing;
import org.apache.kafka.common.TopicCollection;
import org.apache.kafka.common.Uuid;

/**
 * Stands for the server whose address is in the environment, where Debezium's class of this name starts a broker in
 * the process of the test. Its topics are removed when a class of tests begins.
 */
public class KafkaServer {
    private static final String ADDRESS = System.getenv("DROP_IN_ADDRESS");

    private final int id;

    public KafkaServer(Supplier<String> zookeeper, int id) {
        this.id = id;
    }

    protected int brokerId() {
        return id;
    }

    public KafkaServer setProperties(Properties properties) {
        return this;
    }

    public KafkaServer setPort(int port) {
        return this;
    }

    public void setStateDirectory(File directory) {}

    public File getStateDirectory() {
        return null;
    }

    public String getConnection() {
        return ADDRESS;
    }

    public KafkaServer startup() {
        with(admin -> {
            Set<Uuid> topics = topics(admin);
            admin.deleteTopics(TopicCollection.ofTopicIds(topics)).all().get();
            while (topics(admin).stream().anyMatch(topics::contains)) {
                Thread.sleep(10);
            }
        });
        return this;
    }

    public void deleteData() {}

    public void shutdown(boolean deleteLogs) {}

    public void createTopics(String... topics) {
        createTopics(1, 1, topics);
    }

    public void createTopics(int partitions, int replicas, String... topics) {
        for (String topic : topics) {
            createTopic(topic, partitions, replicas);
        }
    }

    public void createTopic(String topic, int partitions, int replicas) {
        with(admin -> admin.createTopics(List.of(new NewTopic(topic, partitions, (short) 1))).all().get());
    }

    void onEachDirectory(Consumer<File> consumer) {}

    private static Set<Uuid> topics(Admin admin) throws ExecutionException, InterruptedException {
        return admin.listTopics().listings().get().stream().map(TopicListing::topicId).collect(Collectors.toSet());
    }

    private interface Use {
        void of(Admin admin) throws ExecutionException, InterruptedException;
    }

    private static void with(Use use) {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", ADDRESS))) {
            use.of(admin);
        } catch (ExecutionException | InterruptedException error) {
            throw new RuntimeException(error);
        }
    }
}
