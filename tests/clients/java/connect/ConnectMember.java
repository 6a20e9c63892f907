// A Kafka Connect worker in distributed mode, spoken to as tests/clients/matrix_members.py describes.
// Its "partitions" are the numbers of the tasks of one connector, which do nothing: a task is assigned when it starts
// and revoked when it has stopped. It takes no "commit".

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.stream.IntStream;

import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.cli.ConnectDistributed;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.runtime.Connect;
import org.apache.kafka.connect.source.SourceConnector;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;

public final class ConnectMember {
    private static final int TASKS = 4;
    private static final BlockingQueue<String> COMMANDS = new LinkedBlockingQueue<>();
    private static final HttpClient HTTP = HttpClient.newHttpClient();

    public static void main(String[] arguments) throws Exception {
        Map<String, String> options = new HashMap<>();
        for (String each : arguments) {
            String[] pair = each.split("=", 2);
            options.put(pair[0], pair[1]);
        }
        Thread listener = new Thread(ConnectMember::listen);
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

    /** Works until a command ends it, and returns that command. */
    private static String live(Map<String, String> options) throws Exception {
        Map<String, String> settings = new HashMap<>();
        String group = options.get("group");
        settings.put("bootstrap.servers", options.get("bootstrap"));
        settings.put("group.id", group);
        settings.put("client.id", options.get("name"));
        settings.put("session.timeout.ms", options.get("session_ms"));
        settings.put("heartbeat.interval.ms", options.get("heartbeat_ms"));
        settings.put("scheduled.rebalance.max.delay.ms", "0");
        settings.put("plugin.discovery", "service_load");
        settings.put("key.converter", "org.apache.kafka.connect.storage.StringConverter");
        settings.put("value.converter", "org.apache.kafka.connect.storage.StringConverter");
        for (String kind : List.of("offset", "config", "status")) {
            settings.put(kind + ".storage.topic", group + "-" + kind);
            settings.put(kind + ".storage.replication.factor", "1");
            if (!kind.equals("config")) {
                settings.put(kind + ".storage.partitions", "1");
            }
        }
        try (ServerSocket free = new ServerSocket(0)) {
            settings.put("listeners", "http://127.0.0.1:" + free.getLocalPort());
        }
        say("joining", "");
        Connect<?> worker = new ConnectDistributed().startConnect(settings);
        createConnector(settings.get("listeners") + "/connectors/tasks");
        String command = COMMANDS.take();
        while (command.equals("commit")) {
            command = COMMANDS.take();
        }
        say("leaving", "");
        worker.stop();
        worker.awaitStop();
        return command;
    }

    /** Creates the connector, unless an earlier worker has; the first worker may not be a leader yet. */
    private static void createConnector(String url) throws Exception {
        String config = "{\"connector.class\": \"" + Source.class.getName() + "\", \"tasks.max\": \"" + TASKS + "\"}";
        HttpRequest ask = HttpRequest.newBuilder(URI.create(url)).build();
        HttpRequest put = HttpRequest.newBuilder(URI.create(url + "/config"))
            .header("Content-Type", "application/json").PUT(HttpRequest.BodyPublishers.ofString(config)).build();
        while (HTTP.send(ask, HttpResponse.BodyHandlers.ofString()).statusCode() != 200) {
            HTTP.send(put, HttpResponse.BodyHandlers.ofString());
            Thread.sleep(100);
        }
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

    /** A connector whose tasks have numbers. */
    public static final class Source extends SourceConnector {
        @Override
        public void start(Map<String, String> settings) {}

        @Override
        public void stop() {}

        @Override
        public Class<? extends Task> taskClass() {
            return Numbered.class;
        }

        @Override
        public List<Map<String, String>> taskConfigs(int most) {
            return IntStream.range(0, most).mapToObj(number -> Map.of("number", String.valueOf(number))).toList();
        }

        @Override
        public ConfigDef config() {
            return new ConfigDef();
        }

        @Override
        public String version() {
            return "1";
        }
    }

    /** A task that only says when it starts and stops. */
    public static final class Numbered extends SourceTask {
        private String number;

        @Override
        public void start(Map<String, String> settings) {
            number = settings.get("number");
            say("assigned", ", \"partitions\": [" + number + "]");
        }

        @Override
        public List<SourceRecord> poll() throws InterruptedException {
            Thread.sleep(50);
            return null;
        }

        @Override
        public void stop() {
            say("revoked", ", \"partitions\": [" + number + "]");
        }

        @Override
        public String version() {
            return "1";
        }
    }
}
