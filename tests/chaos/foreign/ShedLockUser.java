import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.jdbctemplate.JdbcTemplateLockProvider;
import org.postgresql.ds.PGSimpleDataSource;
import org.springframework.jdbc.core.JdbcTemplate;

/**
 * A user of ShedLock on the table of the janitors, by its manual and with the database's time. Reads commands, one a line, and
 * answers each with a line: lock NAME MILLISECONDS → held, busy; extend MILLISECONDS → held, lost; unlock → done.
 */
public class ShedLockUser {
    public static void main(String[] arguments) throws Exception {
        PGSimpleDataSource source = new PGSimpleDataSource();
        source.setUrl(arguments[0]);
        JdbcTemplateLockProvider provider = new JdbcTemplateLockProvider(
            JdbcTemplateLockProvider.Configuration.builder()
                .withJdbcTemplate(new JdbcTemplate(source))
                .usingDbTime()
                .build());
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        Optional<SimpleLock> lock = Optional.empty();
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "lock" -> {
                    lock = provider.lock(new LockConfiguration(
                        Instant.now(), words[1], Duration.ofMillis(Long.parseLong(words[2])), Duration.ZERO));
                    System.out.println(lock.isPresent() ? "held" : "busy");
                }
                case "extend" -> {
                    lock = lock.get().extend(Duration.ofMillis(Long.parseLong(words[1])), Duration.ZERO);
                    System.out.println(lock.isPresent() ? "held" : "lost");
                }
                case "unlock" -> {
                    lock.get().unlock();
                    System.out.println("done");
                }
                default -> throw new IllegalArgumentException(line);
            }
        }
    }
}
