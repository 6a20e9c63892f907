// The program of kafka-clients for the security matrix. tests/clients/security_programs.py describes the settings, which
// are one JSON object of strings, and the lines.

import java.io.IOException;
import java.io.StringReader;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

public final class Security {
    private static final String PACKAGE = "org.apache.kafka.common.security.";
    private static final Map<String, String> MODULES = Map.of(
        "PLAIN", "plain.PlainLoginModule", "OAUTHBEARER", "oauthbearer.OAuthBearerLoginModule",
        "SCRAM-SHA-256", "scram.ScramLoginModule", "SCRAM-SHA-512", "scram.ScramLoginModule");
    private static final int RECORDS = 3;

    public static void main(String[] arguments) throws IOException {
        Map<String, String> given = parse(arguments[0]);
        try {
            run(given);
        } catch (Exception error) {
            String text = "";
            for (Throwable each = error instanceof ExecutionException ? error.getCause() : error; each != null; each = each.getCause()) {
                text += (text.isEmpty() ? "" : ", because ") + each.getClass().getSimpleName() + ": " + each.getMessage();
            }
            say("error\", \"message\": \"" + text.replace("\\", "/").replace("\"", "'").replace("\n", " "));
            System.exit(1);
        }
        say("closed");
    }

    private static void run(Map<String, String> given) throws Exception {
        Properties settings = settings(given);
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
            KafkaConsumer<String, String> consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of(given.get("topic")));
            for (long until = 0; until == 0 || System.nanoTime() < until;) {
                Thread.sleep(until == 0 ? 0 : Long.parseLong(given.get("pause_ms")));
                for (int sent = 0; sent < RECORDS; sent++) {
                    producer.send(new ProducerRecord<>(given.get("topic"), "value")).get();
                }
                for (int read = 0; read < RECORDS;) {
                    read += consumer.poll(Duration.ofMillis(100)).count();
                }
                consumer.commitSync();
                say("round");
                until = until != 0 ? until : System.nanoTime() + Long.parseLong(given.get("milliseconds")) * 1_000_000;
            }
        }
    }

    private static Properties settings(Map<String, String> given) {
        Map<String, String> every = new HashMap<>(Map.of(
            "bootstrap.servers", given.get("bootstrap"), "client.id", given.get("client_id"), "group.id", given.get("group"),
            "enable.auto.commit", "false", "auto.offset.reset", "earliest", "security.protocol", given.get("protocol"),
            "ssl.truststore.location", given.get("ca"), "ssl.keystore.location", given.get("certificate"),
            "sasl.mechanism", given.get("mechanism")));
        every.put("ssl.truststore.type", given.get("ca").isEmpty() ? "" : "PEM");
        every.put("ssl.keystore.type", given.get("certificate").isEmpty() ? "" : "PEM");
        String login = "";
        if (!given.get("token").isEmpty()) {
            String url = Path.of(given.get("token")).toUri().toString();
            System.setProperty("org.apache.kafka.sasl.oauthbearer.allowed.urls", url);
            every.put("sasl.oauthbearer.token.endpoint.url", url);
            every.put("sasl.login.callback.handler.class", PACKAGE + "oauthbearer.OAuthBearerLoginCallbackHandler");
        } else {
            login = " username=\"" + given.get("user") + "\" password=\"" + given.get("password") + "\"";
        }
        String module = MODULES.get(given.get("mechanism"));
        every.put("sasl.jaas.config", module == null ? "" : PACKAGE + module + " required" + login + ";");
        every.values().removeIf(String::isEmpty);
        Properties settings = new Properties();
        settings.putAll(every);
        return settings;
    }

    private static void say(String event) {
        System.out.println("{\"event\": \"" + event + "\"}");
    }

    /** The escapes of JSON in these texts are those of properties too. */
    private static Map<String, String> parse(String json) throws IOException {
        Map<String, String> given = new HashMap<>();
        Matcher pairs = Pattern.compile("\"(\\w+)\": \"((?:[^\"\\\\]|\\\\.)*)\"").matcher(json);
        while (pairs.find()) {
            Properties one = new Properties();
            one.load(new StringReader("value=" + pairs.group(2)));
            given.put(pairs.group(1), one.getProperty("value"));
        }
        return given;
    }
}
