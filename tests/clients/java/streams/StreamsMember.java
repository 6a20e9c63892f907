// A Kafka Streams application without state, spoken to as tests/clients/matrix_members.py describes.
// It commits by itself, so it takes no "commit"; what it was assigned is what its consumer tells.

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.stream.Collectors;

import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.CloseOptions;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.processor.internals.DefaultKafkaClientSupplier;

public final class StreamsMember {
    private static final BlockingQueue<String> COMMANDS = new LinkedBlockingQueue<>();

    public static void main(String[] arguments) throws Exception {
        Map<String, String> options = new HashMap<>();
        for (String each : arguments) {
            String[] pair = each.split("=", 2);
            options.put(pair[0], pair[1]);
        }
        Thread listener = new Thread(StreamsMember::listen);
        listener.setDaemon(true);
        listener.start();
        while (live(options).equals("leave")) {
            say("left", "");
            if (!COMMANDS.take().equals("join")) {
                break;
            }
        }
        say("closed", "");
        System.exit(0);
    }

    /** Runs until a command ends it, and returns that command. */
    private static String live(Map<String, String> options) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", options.get("bootstrap"));
        settings.put("application.id", options.get("group"));
        settings.put("client.id", options.get("name"));
        settings.put("state.dir", Files.createTempDirectory("streams-member-").toString());
        settings.put("default.key.serde", Serdes.ByteArraySerde.class.getName());
        settings.put("default.value.serde", Serdes.ByteArraySerde.class.getName());
        settings.put("main.consumer.session.timeout.ms", options.get("session_ms"));
        settings.put("main.consumer.heartbeat.interval.ms", options.get("heartbeat_ms"));
        settings.put("main.consumer.fetch.max.wait.ms", options.get("fetch_ms"));
        StreamsBuilder builder = new StreamsBuilder();
        builder.<byte[], byte[]>stream(options.get("topic")).process(Reader::new);
        Topology topology = builder.build();
        KafkaStreams streams = new KafkaStreams(topology, settings, new Supplier());
        say("joining", "");
        streams.start();
        String command = COMMANDS.take();
        while (command.equals("commit")) {
            command = COMMANDS.take();
        }
        say("leaving", "");
        streams.close(CloseOptions.groupMembershipOperation(CloseOptions.GroupMembershipOperation.LEAVE_GROUP));
        streams.cleanUp();
        return command;
    }

    private static void listen() {
        try (BufferedReader input = new BufferedReader(new InputStreamReader(System.in))) {
            for (String line = input.readLine(); line != null; line = input.readLine()) {
                COMMANDS.add(line.trim());
            }
        } catch (IOException error) {
            say("error", ", \"message\": \"stdin failed\"");
        }
        COMMANDS.add("close");
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

    /** Says what was read. */
    private static final class Reader implements Processor<byte[], byte[], Void, Void> {
        private ProcessorContext<Void, Void> context;

        @Override
        public void init(ProcessorContext<Void, Void> context) {
            this.context = context;
        }

        @Override
        public void process(Record<byte[], byte[]> record) {
            context.recordMetadata().ifPresent(read ->
                say("record", ", \"partition\": " + read.partition() + ", \"offset\": " + read.offset()));
        }
    }

    /** Makes consumers that say what they are assigned before Streams hears of it. */
    private static final class Supplier extends DefaultKafkaClientSupplier {
        @Override
        public Consumer<byte[], byte[]> getConsumer(Map<String, Object> config) {
            return new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer()) {
                @Override
                public void subscribe(Collection<String> topics, ConsumerRebalanceListener listener) {
                    super.subscribe(topics, new Listener(listener));
                }
            };
        }
    }

    private record Listener(ConsumerRebalanceListener inner) implements ConsumerRebalanceListener {
        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            changed("assigned", partitions);
            inner.onPartitionsAssigned(partitions);
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            changed("revoked", partitions);
            inner.onPartitionsRevoked(partitions);
        }

        @Override
        public void onPartitionsLost(Collection<TopicPartition> partitions) {
            changed("revoked", partitions);
            inner.onPartitionsLost(partitions);
        }
    }
}
