// A consumer of Apache Kafka's own Java client, spoken to as tests/clients/matrix_members.py describes.
// The same source is compiled against every release of kafka-clients that the matrix tries, with the Poll it has.

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.stream.Collectors;

import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

public final class Member {
    private static final Map<String, String> ASSIGNORS = Map.of(
        "range", "org.apache.kafka.clients.consumer.RangeAssignor",
        "cooperative-sticky", "org.apache.kafka.clients.consumer.CooperativeStickyAssignor");

    private final Map<TopicPartition, OffsetAndMetadata> next = new HashMap<>();
    private final BlockingQueue<String> commands = new LinkedBlockingQueue<>();

    public static void main(String[] arguments) {
        Map<String, String> options = new HashMap<>();
        for (String each : arguments) {
            String[] pair = each.split("=", 2);
            options.put(pair[0], pair[1]);
        }
        new Member().run(options);
    }

    private void run(Map<String, String> options) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", options.get("bootstrap"));
        settings.put("group.id", options.get("group"));
        settings.put("client.id", options.get("name"));
        if (options.get("protocol").equals("consumer")) {
            settings.put("group.protocol", "consumer");
            settings.put("group.remote.assignor", options.get("assignor").equals("range") ? "range" : "uniform");
        } else {
            settings.put("session.timeout.ms", options.get("session_ms"));
            settings.put("heartbeat.interval.ms", options.get("heartbeat_ms"));
            settings.put("partition.assignment.strategy", ASSIGNORS.get(options.get("assignor")));
        }
        settings.put("enable.auto.commit", options.get("auto_commit"));
        settings.put("auto.offset.reset", "earliest");
        settings.put("fetch.max.wait.ms", options.get("fetch_ms"));
        settings.put("key.deserializer", ByteArrayDeserializer.class.getName());
        settings.put("value.deserializer", ByteArrayDeserializer.class.getName());
        if (options.containsKey("instance")) {
            settings.put("group.instance.id", options.get("instance"));
        }
        Thread listener = new Thread(this::listen);
        listener.setDaemon(true);
        listener.start();
        try {
            while (live(settings, options.get("topic")).equals("leave")) {
                say("left", "");
                if (!commands.take().equals("join")) {
                    break;
                }
            }
        } catch (KafkaException | InterruptedException error) {
            failed(error);
            System.exit(1);
        }
        say("closed", "");
    }

    /** Consumes until a command ends it, and returns that command. */
    private String live(Properties settings, String topic) {
        next.clear();
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings)) {
            say("joining", "");
            consumer.subscribe(Collections.singletonList(topic), new Listener());
            while (true) {
                for (ConsumerRecord<byte[], byte[]> each : Poll.once(consumer, 50)) {
                    say("record", ", \"partition\": " + each.partition() + ", \"offset\": " + each.offset());
                    next.put(new TopicPartition(each.topic(), each.partition()), new OffsetAndMetadata(each.offset() + 1));
                }
                for (String command = commands.poll(); command != null; command = commands.poll()) {
                    if (!command.equals("commit")) {
                        say("leaving", "");
                        return command;
                    }
                    commit(consumer);
                }
            }
        }
    }

    private void commit(KafkaConsumer<byte[], byte[]> consumer) {
        long begun = System.nanoTime();
        try {
            consumer.commitSync(next);
            say("committed", ", \"took_ns\": " + (System.nanoTime() - begun));
        } catch (KafkaException error) {
            failed(error);
        }
    }

    private void listen() {
        try (BufferedReader input = new BufferedReader(new InputStreamReader(System.in))) {
            for (String line = input.readLine(); line != null; line = input.readLine()) {
                commands.add(line.trim());
            }
        } catch (IOException error) {
            failed(error);
        }
        commands.add("close");
    }

    private static void failed(Exception error) {
        String text = String.valueOf(error).replace("\\", "/").replace("\"", "'").replace("\n", " ");
        say("error", ", \"message\": \"" + text + "\"");
    }

    private static void say(String event, String more) {
        write("{\"event\": \"" + event + "\", \"at\": " + System.nanoTime() + more + "}");
    }

    private static synchronized void write(String line) {
        System.out.println(line);
        System.out.flush();
    }

    private static void changed(String event, Collection<TopicPartition> partitions) {
        String numbers = partitions.stream().map(each -> String.valueOf(each.partition())).collect(Collectors.joining(", "));
        say(event, ", \"partitions\": [" + numbers + "]");
    }

    private final class Listener implements ConsumerRebalanceListener {
        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            changed("assigned", partitions);
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            partitions.forEach(next::remove);
            changed("revoked", partitions);
        }
    }
}
