package fairlock;

import java.io.BufferedReader;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;
import org.redisson.config.SingleServerConfig;

/**
 * Drives real Redisson clients by lines on its standard input:
 *
 * <pre>ACTOR COMMAND NAME [ARGUMENT...]</pre>
 *
 * An actor is a thread, to which Redisson gives the lock; its name is CLIENT.THREAD, and each CLIENT is a
 * Redisson instance of its own. Actors are made when they are named first and do one thing after another; stamp is done by
 * a thread of its own. Each command is answered by a line when it is done: {@code ACTOR COMMAND RESULT}. Times are milliseconds.
 *
 * <pre>
 * lock NAME [LEASE]              ok
 * tryLock NAME WAIT [LEASE]      true or false
 * tryLockAsync NAME WAIT [LEASE] the same, by the asynchronous call
 * unlock NAME                    ok
 * run NAME FILE WORD MS [LEASE]  ok: locks, appends WORD to FILE, works, unlocks. Makes the folder FILE.in
 *                                meanwhile: who finds it there has overlapped with somebody
 * forceUnlock isLocked isHeld getHoldCount remainTimeToLive NAME
 * plainLock NAME [LEASE], plainUnlock NAME: RLock, not RFairLock
 * stamp NAME FILE NUMBER MICROSECONDS|FIFO   ok: does as the benchmarks' stamp.c, under the fair lock
 * stampSlot, stampShared, stampAlone         the same with one of eight permits of a semaphore, or under the lock for
 *                                            readers or for writers of a read-write lock
 * connect NAME                   ok: makes the client, and does nothing with it
 * </pre>
 *
 * What fails is answered by {@code ACTOR COMMAND failed EXCEPTION: MESSAGE}. At the end of its input it ends at
 * once, as a JVM that is killed.
 *
 * usage: java fairlock.Client PORT [WATCHDOG_MS [FAIR_WAIT_MS]]
 */
public final class Client {
    private static final int PATIENCE_MS = 30000;
    private static final Map<String, RedissonClient> clients = new ConcurrentHashMap<>();
    private static final Map<String, ExecutorService> actors = new ConcurrentHashMap<>();
    private static String[] arguments;

    private Client() {}

    /** Old versions lack some settings. */
    private static boolean setIfThere(Object config, String setter, Class<?> type, Object value) {
        try {
            config.getClass().getMethod(setter, type).invoke(config, value);
            return true;
        } catch (NoSuchMethodException e) {
            return false;
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    private static RedissonClient connect() {
        Config config = new Config();
        SingleServerConfig server = config.useSingleServer();

        server.setAddress("redis://127.0.0.1:" + arguments[0]).setConnectionMinimumIdleSize(1)
                .setSubscriptionConnectionMinimumIdleSize(1).setSubscriptionsPerConnection(100);
        // a machine that is busy is no failure
        server.setConnectTimeout(PATIENCE_MS).setTimeout(PATIENCE_MS);
        setIfThere(server, "setSubscriptionTimeout", int.class, PATIENCE_MS);
        config.setThreads(4).setNettyThreads(4);
        if (arguments.length > 1) {
            config.setLockWatchdogTimeout(Long.parseLong(arguments[1]));
        }
        if (arguments.length > 2) {
            if (!setIfThere(config, "setFairLockWaitTimeout", long.class, Long.parseLong(arguments[2]))) {
                throw new IllegalArgumentException("this Redisson has a fixed waiting time");
            }
        }
        return Redisson.create(config);
    }

    private static long number(String[] words, int index, long otherwise) {
        return index < words.length ? Long.parseLong(words[index]) : otherwise;
    }

    private static void append(String file, String word) throws IOException {
        Files.writeString(Path.of(file), word + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }

    private static Object run(RLock lock, String[] words) throws IOException, InterruptedException {
        lock.lock(number(words, 6, -1), TimeUnit.MILLISECONDS);
        try {
            Path inside = Path.of(words[3] + ".in");

            Files.createDirectory(inside);
            append(words[3], words[4]);
            Thread.sleep(number(words, 5, 0));
            Files.delete(inside);
        } finally {
            lock.unlock();
        }
        return "ok";
    }

    private static void work(String howLong) throws IOException, InterruptedException {
        if (howLong.startsWith("/")) {
            Files.readAllBytes(Path.of(howLong));
        } else {
            TimeUnit.MICROSECONDS.sleep(Long.parseLong(howLong));
        }
    }

    private static Object stamp(String[] words, Runnable give) throws IOException, InterruptedException {
        try {
            long start = System.nanoTime();

            new FileOutputStream(words[3], true).close();
            work(words[5]);
            append(words[3], words[4] + " " + start + " " + System.nanoTime());
        } finally {
            give.run();
        }
        return "ok";
    }

    private static Object stamp(String[] words, RLock lock) throws IOException, InterruptedException {
        lock.lock();
        return stamp(words, lock::unlock);
    }

    private static Object stampSlot(String[] words, RSemaphore semaphore) throws IOException, InterruptedException {
        semaphore.trySetPermits(8);
        semaphore.acquire();
        return stamp(words, semaphore::release);
    }

    private static Object act(RedissonClient client, String[] words) throws Exception {
        String name = words.length > 2 ? words[2] : "";
        RLock lock = words[1].startsWith("plain") ? client.getLock(name) : client.getFairLock(name);

        switch (words[1]) {
        case "connect":
            return "ok";
        case "lock":
        case "plainLock":
            lock.lock(number(words, 3, -1), TimeUnit.MILLISECONDS);
            return "ok";
        case "tryLock":
            return lock.tryLock(number(words, 3, 0), number(words, 4, -1), TimeUnit.MILLISECONDS);
        case "tryLockAsync":
            return lock.tryLockAsync(number(words, 3, 0), number(words, 4, -1), TimeUnit.MILLISECONDS,
                    Thread.currentThread().getId()).get();
        case "unlock":
        case "plainUnlock":
            lock.unlock();
            return "ok";
        case "run":
            return run(lock, words);
        case "stamp":
            return stamp(words, lock);
        case "stampSlot":
            return stampSlot(words, client.getSemaphore(name));
        case "stampShared":
            return stamp(words, client.getReadWriteLock(name).readLock());
        case "stampAlone":
            return stamp(words, client.getReadWriteLock(name).writeLock());
        case "forceUnlock":
            return lock.forceUnlock();
        case "isLocked":
            return lock.isLocked();
        case "isHeld":
            return lock.isHeldByCurrentThread();
        case "getHoldCount":
            return lock.getHoldCount();
        case "remainTimeToLive":
            return lock.remainTimeToLive();
        default:
            throw new IllegalArgumentException("no such command");
        }
    }

    private static void answer(String[] words, Object result) {
        synchronized (System.out) {
            System.out.println(words[0] + " " + words[1] + " " + result);
            System.out.flush();
        }
    }

    private static void perform(String[] words) {
        String name = words[0].split("\\.")[0];

        try {
            answer(words, act(clients.computeIfAbsent(name, client -> connect()), words));
        } catch (Exception e) {
            Throwable cause = e.getCause() != null ? e.getCause() : e;

            answer(words, "failed " + cause.getClass().getSimpleName() + ": " + cause.getMessage());
        }
    }

    public static void main(String[] args) throws IOException {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        String line;

        arguments = args;
        while ((line = input.readLine()) != null) {
            String[] words = line.trim().split("\\s+");

            if (words.length < 2) {
                System.err.println("not understood: " + line + " " + Arrays.toString(args));
                continue;
            }
            if (words[1].startsWith("stamp")) {
                new Thread(() -> perform(words)).start();
                continue;
            }
            actors.computeIfAbsent(words[0], actor -> Executors.newSingleThreadExecutor())
                    .submit(() -> perform(words));
        }
        Runtime.getRuntime().halt(0);
    }
}
