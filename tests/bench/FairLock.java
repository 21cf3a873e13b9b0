import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/**
 * Redisson's fair lock, semaphore and read-write lock for benchmarks: each line on standard input is done by a thread of its own, and
 * answered by a line that begins with its first word.
 *
 * <pre>
 * ID section NAME FILE NUMBER MICROSECONDS|FIFO   ID done: as the program stamp, under the lock
 * ID slot    the same                             with one of eight permits of a semaphore
 * ID shared  the same                             under the lock for readers of a read-write lock
 * ID alone   the same                             under its lock for writers
 * ID run NAME WORD...                             ID NANOSECONDS: lock, run a program, unlock
 * ID try NAME MILLISECONDS                        ID true or false: waits so long, then gives up
 * ID pairs THREADS COUNT                          ID NANOSECONDS: threads with a lock each, COUNT times lock and unlock
 * </pre>
 *
 * usage: java FairLock.java PORT [WATCHDOG_MS]
 */
public final class FairLock {
    private static RedissonClient client;

    private FairLock() {}

    private static void connect(String[] args) {
        Config config = new Config();

        // A waiter subscribes to a channel of its own.
        config.useSingleServer().setAddress("redis://127.0.0.1:" + args[0]).setSubscriptionsPerConnection(100)
                .setConnectionMinimumIdleSize(8).setSubscriptionConnectionMinimumIdleSize(1)
                .setTimeout(60000).setConnectTimeout(10000).setSubscriptionTimeout(60000);
        config.setThreads(16).setNettyThreads(4);
        if (args.length > 1) {
            config.setLockWatchdogTimeout(Long.parseLong(args[1]));
        }
        client = Redisson.create(config);
    }

    private static void work(String howLong) throws IOException, InterruptedException {
        if (howLong.startsWith("/")) {
            Files.readAllBytes(Path.of(howLong));
        } else if (!howLong.equals("0")) {
            TimeUnit.MICROSECONDS.sleep(Long.parseLong(howLong));
        }
    }

    private static void append(String file, String text) throws IOException {
        Files.writeString(Path.of(file), text, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }

    private static void stamp(String[] words) throws IOException, InterruptedException {
        long start = System.nanoTime();

        append(words[3], "");
        work(words[5]);
        append(words[3], words[4] + " " + start + " " + System.nanoTime() + "\n");
    }

    private static String section(String[] words, RLock lock) throws IOException, InterruptedException {
        lock.lock();
        try {
            stamp(words);
        } finally {
            lock.unlock();
        }
        return "done";
    }

    private static String slot(String[] words) throws IOException, InterruptedException {
        RSemaphore semaphore = client.getSemaphore(words[2]);

        semaphore.trySetPermits(8);
        semaphore.acquire();
        try {
            stamp(words);
        } finally {
            semaphore.release();
        }
        return "done";
    }

    private static String run(String[] words) throws IOException, InterruptedException {
        RLock lock = client.getFairLock(words[2]);
        long start = System.nanoTime();

        lock.lock();
        new ProcessBuilder(words[3]).inheritIO().start().waitFor();
        lock.unlock();
        return String.valueOf(System.nanoTime() - start);
    }

    private static String pairs(String[] words) throws InterruptedException {
        int threads = Integer.parseInt(words[2]);
        int count = Integer.parseInt(words[3]);
        CountDownLatch done = new CountDownLatch(threads);
        long start = System.nanoTime();

        for (int i = 0; i < threads; i++) {
            RLock lock = client.getFairLock("pairs" + i);

            new Thread(() -> {
                for (int j = 0; j < count; j++) {
                    lock.lock();
                    lock.unlock();
                }
                done.countDown();
            }).start();
        }
        done.await();
        return String.valueOf(System.nanoTime() - start);
    }

    private static String act(String[] words) throws IOException, InterruptedException {
        switch (words[1]) {
        case "section":
            return section(words, client.getFairLock(words[2]));
        case "slot":
            return slot(words);
        case "shared":
            return section(words, client.getReadWriteLock(words[2]).readLock());
        case "alone":
            return section(words, client.getReadWriteLock(words[2]).writeLock());
        case "run":
            return run(words);
        case "try":
            return String.valueOf(client.getFairLock(words[2]).tryLock(Long.parseLong(words[3]), TimeUnit.MILLISECONDS));
        case "pairs":
            return pairs(words);
        default:
            throw new IllegalArgumentException(words[1]);
        }
    }

    private static void perform(String[] words) {
        String answer;

        try {
            answer = act(words);
        } catch (IOException | InterruptedException | RuntimeException e) {
            answer = "failed " + e;
        }
        synchronized (System.out) {
            System.out.println(words[0] + " " + answer);
            System.out.flush();
        }
    }

    public static void main(String[] args) throws IOException {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        String line;

        connect(args);
        System.out.println("ready");
        while ((line = input.readLine()) != null) {
            String[] words = line.split(" ");

            new Thread(() -> perform(words)).start();
        }
        Runtime.getRuntime().halt(0);
    }
}
