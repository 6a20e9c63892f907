import java.util.Map;
import java.util.function.Supplier;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.Network;
import org.testcontainers.kafka.ConfluentKafkaContainer;
import org.testcontainers.kafka.KafkaContainer;
import org.testcontainers.utility.DockerImageName;

/** Starts the image by each class of Testcontainers' module for Java: `Started KIND...`; see python/started.py. */
public class Started {
    private static GenericContainer<?> container;
    private static Supplier<String> bootstrap;

    private static final Map<String, String> BROKER_PORTS =
            Map.of("apache", "9093", "confluent", "9093", "old", "9092");

    @SuppressWarnings("deprecation")
    private static void make(String kind) {
        var image = DockerImageName.parse("kafka-group-coordinator:0.1.0");
        switch (kind) {
            case "apache" -> {
                var kafka = new KafkaContainer(image.asCompatibleSubstituteFor("apache/kafka"));
                container = kafka;
                bootstrap = kafka::getBootstrapServers;
            }
            case "confluent" -> {
                var kafka = new ConfluentKafkaContainer(image.asCompatibleSubstituteFor("confluentinc/cp-kafka"));
                container = kafka;
                bootstrap = kafka::getBootstrapServers;
            }
            default -> {
                image = image.asCompatibleSubstituteFor("confluentinc/cp-kafka");
                var kafka = new org.testcontainers.containers.KafkaContainer(image);
                container = kafka;
                bootstrap = kafka::getBootstrapServers;
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        for (String kind : arguments) {
            make(kind);
            try (var network = Network.newNetwork(); var kafka = container.withNetwork(network)) {
                kafka.start();
                String broker = kafka.getContainerInfo().getConfig().getHostName() + ":" + BROKER_PORTS.get(kind);
                String address = bootstrap.get().replace("PLAINTEXT://", "");
                System.out.println("started " + kind + " " + address + " " + broker + " " + network.getId());
                for (int read = 0; read != '\n' && read != -1; ) read = System.in.read();
            }
        }
    }
}
