package org.apache.kafka.common.test.junit;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.GroupListing;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.TopicListing;
import org.apache.kafka.clients.consumer.GroupProtocol;
import org.apache.kafka.common.TopicCollection;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.test.ClusterInstance;
import org.apache.kafka.common.test.api.ClusterConfig;
import org.apache.kafka.common.test.api.ClusterTests;
import org.apache.kafka.common.test.api.Type;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.Extension;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;
import org.junit.jupiter.api.extension.TestTemplateInvocationContext;
import org.junit.jupiter.api.extension.TestTemplateInvocationContextProvider;
import org.opentest4j.TestAbortedException;

/**
 * Gives Kafka's tests the server whose address is in the environment, where the class of this name in Kafka starts
 * brokers in the process of the test. Before each test the topics and groups of the one before are removed. A topic
 * has one replica, whatever the test asks for. A test that looks into a broker is aborted.
 */
public class ClusterTestExtensions implements TestTemplateInvocationContextProvider {
    private static final long WITHIN_MS = 20_000;

    @Override
    public boolean supportsTestTemplate(ExtensionContext context) {
        return true;
    }

    @Override
    public Stream<TestTemplateInvocationContext> provideTestTemplateInvocationContexts(ExtensionContext context) {
        ClusterTests several = context.getRequiredTestMethod().getAnnotation(ClusterTests.class);
        return IntStream.range(0, several == null ? 1 : several.value().length).mapToObj(each -> new OnServer());
    }

    private static class OnServer implements TestTemplateInvocationContext, ParameterResolver, BeforeEachCallback {
        private final ClusterInstance cluster = (ClusterInstance) Proxy.newProxyInstance(
            ClusterInstance.class.getClassLoader(), new Class<?>[] {ClusterInstance.class}, new Server());

        @Override
        public List<Extension> getAdditionalExtensions() {
            return List.of(this);
        }

        @Override
        public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
            return parameter.getParameter().getType() == ClusterInstance.class;
        }

        @Override
        public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
            return cluster;
        }

        @Override
        public void beforeEach(ExtensionContext context) throws Exception {
            try (Admin admin = cluster.admin()) {
                Set<Uuid> topics = topics(admin);
                admin.deleteTopics(TopicCollection.ofTopicIds(topics)).all().get();
                until("the topics of another test are gone", () -> Collections.disjoint(topics, topics(admin)));
                for (GroupListing group : admin.listGroups().all().get()) {
                    try {
                        admin.deleteConsumerGroups(List.of(group.groupId())).all().get();
                    } catch (ExecutionException error) {
                        // It has members, which another test left.
                    }
                }
            }
        }
    }

    private static class Server implements InvocationHandler {
        @Override
        public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
            ClusterInstance cluster = (ClusterInstance) proxy;
            switch (method.getName()) {
                case "bootstrapServers":
                    return System.getenv("DROP_IN_ADDRESS");
                case "type":
                    return Type.KRAFT;
                case "config":
                    return ClusterConfig.defaultBuilder().setTypes(Set.of(Type.KRAFT)).build();
                case "clientListener":
                    return ListenerName.normalised("PLAINTEXT");
                case "supportedGroupProtocols":
                    return Set.of(GroupProtocol.CLASSIC, GroupProtocol.CONSUMER);
                case "start", "waitForReadyBrokers", "ensureConsistentMetadata":
                    return null;
                case "clusterId":
                    try (Admin admin = cluster.admin()) {
                        return admin.describeCluster().clusterId().get();
                    }
                case "createTopic":
                    create(cluster, arguments);
                    return null;
                case "waitTopicCreation", "waitTopicDeletion":
                    try (Admin admin = cluster.admin()) {
                        await(admin, (String) arguments[0], method.getName().equals("waitTopicCreation"));
                    }
                    return null;
                default:
                    if (method.isDefault() && !method.getName().contains("rokers")) {
                        return InvocationHandler.invokeDefault(proxy, method, arguments);
                    }
                    throw new TestAbortedException(method.getName() + "() needs a broker in the process of the test");
            }
        }

        @SuppressWarnings("unchecked")
        private static void create(ClusterInstance cluster, Object[] arguments) throws Exception {
            NewTopic topic = new NewTopic((String) arguments[0], Optional.of((int) arguments[1]), Optional.of((short) 1));
            if (arguments.length > 3) {
                topic.configs((Map<String, String>) arguments[3]);
            }
            try (Admin admin = cluster.admin()) {
                admin.createTopics(List.of(topic)).all().get();
                await(admin, topic.name(), true);
            } catch (ExecutionException error) {
                if (!(error.getCause() instanceof TopicExistsException)) {
                    throw error;
                }
            }
        }
    }

    private static Set<Uuid> topics(Admin admin) throws Exception {
        return admin.listTopics().listings().get().stream().map(TopicListing::topicId).collect(Collectors.toSet());
    }

    private static void await(Admin admin, String topic, boolean isThere) throws Exception {
        String what = topic + (isThere ? " is there" : " is gone");
        until(what, () -> isThere == admin.listTopics().names().get().contains(topic));
    }

    private static void until(String what, Callable<Boolean> isSo) throws Exception {
        long end = System.currentTimeMillis() + WITHIN_MS;
        while (!isSo.call()) {
            if (System.currentTimeMillis() > end) {
                throw new AssertionError("not within " + WITHIN_MS + " ms: " + what);
            }
            Thread.sleep(10);
        }
    }
}
