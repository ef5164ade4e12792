import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A service on 8080, and beside it what Spring Boot's management port (8081) says of one: its health, and how many of its
 * threads are busy, by the names Micrometer has for Tomcat's.
 */
public class Orders {
    private static final AtomicInteger BUSY = new AtomicInteger();

    public static void main(String[] arguments) throws IOException {
        HttpServer orders = server(8080);
        answer(orders, "/", "text/plain", () -> "here\n");
        HttpServer management = server(8081);
        answer(management, "/actuator/health", "application/json", () -> "{\"status\":\"UP\"}");
        answer(management, "/actuator/prometheus", "text/plain; version=0.0.4", () ->
            "# HELP tomcat_threads_busy_threads\n# TYPE tomcat_threads_busy_threads gauge\n"
            + "tomcat_threads_busy_threads{name=\"http-nio-8080\"} " + (double) BUSY.get() + "\n");
        orders.start();
        management.start();
    }

    private static HttpServer server(int port) throws IOException {
        HttpServer server = HttpServer.create(new InetSocketAddress(port), 0);
        server.setExecutor(Executors.newCachedThreadPool());
        return server;
    }

    private interface Page {
        String text();
    }

    private static void answer(HttpServer server, String path, String type, Page page) {
        boolean counts = server.getAddress().getPort() == 8080;
        server.createContext(path, exchange -> {
            if (counts) BUSY.incrementAndGet();
            byte[] body = page.text().getBytes(StandardCharsets.UTF_8);
            exchange.getResponseHeaders().set("Content-Type", type);
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
            if (counts) BUSY.decrementAndGet();
        });
    }
}
