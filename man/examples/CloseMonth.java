import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;

import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/**
 * A Java service that takes turns with shell scripts: Redisson's fair lock and fairlock's of the same name, on the same
 * server, have one queue. Beside it, on any host:
 *
 * <pre>fairlock wrap --url redis://lock.example.com invoices -- ./close-month.sh</pre>
 *
 * Change: the server's address, or LOCK_SERVER in the environment; the lock's name; what is done under it. Java 11 or
 * later, Redisson 3 or 4: {@code java -cp 'lib/*' CloseMonth.java LEDGER}.
 *
 * If this JVM or its host dies, the lock is free when Redisson's lease ends, 30 s later (lockWatchdogTimeout). Redisson
 * does not stop the work when the lock is lost, as {@code fairlock wrap} does: unlock() throws then.
 */
public class CloseMonth {
    public static void main(String[] args) throws IOException {
        Config config = new Config();
        config.useSingleServer().setAddress(
                System.getenv().getOrDefault("LOCK_SERVER", "redis://lock.example.com:6379"));
        RedissonClient redisson = Redisson.create(config);
        RLock lock = redisson.getFairLock("invoices");

        try {
            lock.lock();
            try {
                closeMonth(Path.of(args[0]));
            } finally {
                lock.unlock();
            }
        } finally {
            redisson.shutdown();
        }
    }

    private static void closeMonth(Path ledger) throws IOException {
        Files.write(ledger, List.of("closed by Java"), StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }
}
