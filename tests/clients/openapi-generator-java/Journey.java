import java.time.OffsetDateTime;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import okhttp3.Call;
import org.openapitools.client.ApiClient;
import org.openapitools.client.api.AccountsApi;
import org.openapitools.client.api.LinksApi;
import org.openapitools.client.api.SharesApi;
import org.openapitools.client.api.StatisticsApi;
import org.openapitools.client.auth.HttpBearerAuth;
import org.openapitools.client.model.Credentials;
import org.openapitools.client.model.LinkCreation;
import org.openapitools.client.model.LinksCreation;
import org.openapitools.client.model.PasswordChange;
import org.openapitools.client.model.Registration;
import org.openapitools.client.model.ShareCreation;

/** One journey through the API with the client that openapi-generator makes of the description in Java. */
class Journey {
  static final ApiClient CLIENT = new ApiClient();

  static void check(boolean isTrue, String what) {
    if (!isTrue) throw new AssertionError(what);
  }

  static LinkCreation to(int number) {
    return new LinkCreation().originalUrl("https://example.com/" + number);
  }

  /** The first line of an answer. Left alone, a call asks for JSON. */
  static String ask(Call call, String type) throws Exception {
    var request = call.request().newBuilder().header("Accept", type).build();
    try (var answer = CLIENT.getHttpClient().newCall(request).execute()) {
      check(answer.code() == 200, type);
      return answer.body().source().readUtf8LineStrict();
    }
  }

  public static void main(String[] arguments) throws Exception {
    String email = arguments[1], password = "correct horse battery";
    CLIENT.setBasePath(arguments[0]);
    var accounts = new AccountsApi(CLIENT);
    accounts.register(new Registration().email(email).password(password)).execute();
    var login = accounts.login(new Credentials().email(email).password(password)).execute();
    ((HttpBearerAuth) CLIENT.getAuthentication("accessToken")).setBearerToken(login.getAccessToken());
    System.out.println("register");

    var links = new LinksApi(CLIENT);
    long id = links.createLink(to(1).expiresAt(OffsetDateTime.now().plusDays(1))).execute().getLink().getId();
    // Models leave null out.
    var headers = new HashMap<>(Map.of("Content-Type", "application/json", "Accept", "application/json"));
    CLIENT.execute(CLIENT.buildCall(CLIENT.getBasePath(), "/api/links/" + id, "PATCH", List.of(), List.of(), "{\"expires_at\": null}".getBytes(), headers, new HashMap<>(), new HashMap<>(), new String[] {"accessToken"}, null));
    check(links.getLink(id).execute().getLink().getExpiresAt() == null, "expires_at");
    System.out.println("create");
    var results = links.createLinks(new LinksCreation().links(List.of(to(2), to(3)))).execute().getResults();
    check(results.get(1).getStatus() == 201, "bulk");
    System.out.println("bulk");

    var seen = new HashSet<String>();
    String cursor = null;
    do {
      var page = links.listLinks().limit(2).cursor(cursor).execute();
      page.getLinks().forEach(link -> seen.add(link.getSlug()));
      cursor = page.getPagination().getNextCursor();
    } while (cursor != null);
    check(seen.size() == 3, "links on all pages");
    System.out.println("page");

    var statistics = new StatisticsApi(CLIENT);
    check(statistics.getLinkStatistics(id).from("2026-01-01").execute().getRangeStatistics().getHumans() == 0, "statistics");
    System.out.println("statistics");
    check(ask(statistics.listVisits(id).format("csv").buildCall(null), "text/csv").contains(","), "csv");
    System.out.println("csv");
    new SharesApi(CLIENT).createShare(new ShareCreation().linkId(id)).execute();
    System.out.println("share");
    ask(statistics.streamVisits().buildCall(null), "text/event-stream");
    // A success without a body. It ends the token.
    accounts.changePassword(new PasswordChange().currentPassword(password).newPassword("another " + password)).execute();
    System.out.println("live");
    System.exit(0);
  }
}
