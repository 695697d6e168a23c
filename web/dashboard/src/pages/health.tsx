import type { ComponentChildren } from "preact";
import { api, type ApiError, asApiError, type Schemas, unwrap } from "../api/client";
import { useQuery } from "../api/use_query";
import { ErrorBox, Skeleton } from "../components/feedback";
import { currentLocale, type Key, t, tn } from "../i18n";
import { formatClock, formatCount, formatRelative, formatTime } from "../lib/format";
import { intl } from "../lib/intl";

const POLL_MS = 5_000;
/** Counts of the server stop here. */
const COUNTED_MAX = 10_000;

type Health = Schemas["Health"];
type Problem = Health["problems"][number];
type Service = Health["services"][number];

const upTo = (count: number) => (count >= COUNTED_MAX ? `≥ ${formatCount(COUNTED_MAX)}` : formatCount(count));

/** A duration in the largest unit that fits: "3 hours". */
function lasting(ms: number): string {
  const steps = [["day", 86_400_000], ["hour", 3_600_000], ["minute", 60_000], ["second", 1_000]] as const;
  const [unit, size] = steps.find(([, size]) => ms >= size) ?? (["second", 1_000] as const);
  return intl("NumberFormat", currentLocale(), { style: "unit", unit, unitDisplay: "long", maximumFractionDigits: 0 }).format(ms / size);
}

function ProblemCard({ problem }: { problem: Problem }) {
  return (
    <li class="card card-danger">
      <h2>{t(`health.${problem.kind}` as Key, { subject: problem.subject })}</h2>
      <p>{t(`health.${problem.kind}.do` as Key)}</p>
      <p>
        <a href={`/docs/runbook/${problem.kind}`} target="_blank" rel="noreferrer">
          {t("health.runbook", { title: problem.kind })}
        </a>
      </p>
    </li>
  );
}

function Problems({ problems }: { problems: Problem[] }) {
  return (
    <section aria-label={t("health.problems")}>
      {problems.length === 0 ? (
        <p class="card health-good">{t("health.good")}</p>
      ) : (
        <ul class="health-problems">
          {problems.map((problem) => (
            <ProblemCard problem={problem} key={`${problem.kind} ${problem.subject}`} />
          ))}
        </ul>
      )}
    </section>
  );
}

const BADGES: Record<Service["status"], string> = { ready: "badge badge-admin", degraded: "badge badge-disabled", unready: "badge badge-deleted", unreachable: "badge badge-deleted", invalid: "badge badge-deleted" };

function Services({ services }: { services: Service[] }) {
  return (
    <div class="card table-card">
      <table class="table">
        <caption class="card-head">{t("health.services")}</caption>
        <thead>
          <tr>
            <th scope="col">{t("health.service")}</th>
            <th scope="col">{t("state")}</th>
            <th scope="col">{t("health.failing")}</th>
          </tr>
        </thead>
        <tbody>
          {services.map((service) => (
            <tr key={`${service.name} ${service.address}`}>
              <td class="cell-link">
                <strong>{service.name}</strong>
                <div class="muted mono">{service.address || t("health.self")}</div>
              </td>
              <td>
                <span class={BADGES[service.status]}>{t(`health.status.${service.status}`)}</span>
              </td>
              <td>{service.reason ? t(`health.reason.${service.reason}`) : service.failing.join(", ")}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Facts({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <section class="card" aria-label={title}>
      <h2 class="card-head">{title}</h2>
      <dl class="facts">{children}</dl>
    </section>
  );
}

function Fact({ name, value, note }: { name: string; value: ComponentChildren; note?: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {value} {note && <span class="muted">{note}</span>}
      </dd>
    </div>
  );
}

/** The sum over all redirectors; at least that, if some do not say how many. */
function ofRedirectors(services: Service[], count: "events_queued" | "events_dropped"): string {
  const counts = services.filter(({ name }) => name === "redirector").map((service) => service[count]);
  const sum = formatCount(counts.reduce<number>((sum, count) => sum + (count ?? 0), 0));
  if (counts.length === 0) return "–";
  return counts.includes(null) ? `≥ ${sum}` : sum;
}

function Backlogs({ health: { services, counting, outbox, rollups, purge, schema } }: { health: Health }) {
  return (
    <div class="health-facts">
      <Facts title={t("health.counting")}>
        <Fact name={t("health.as_of")} value={counting.as_of ? formatTime(counting.as_of) : t("never")} note={counting.lag_ms === null ? undefined : t("health.behind", { time: lasting(counting.lag_ms) })} />
        <Fact name={t("health.journals")} value={ofRedirectors(services, "events_queued")} />
        <Fact name={t("health.lost")} value={ofRedirectors(services, "events_dropped")} />
        <Fact name={t("health.partitions")} value={formatCount(counting.partitions)} note={counting.halted.length > 0 ? tn("health.halted", counting.halted.length) : undefined} />
        {counting.halted.map((each) => (
          <Fact key={`${each.topic}/${each.partition}`} name={`${each.topic}/${each.partition}`} value={each.reason} note={formatRelative(each.halted_at)} />
        ))}
      </Facts>
      <Facts title={t("health.outbox")}>
        <Fact name={t("health.waiting")} value={formatCount(outbox.waiting)} note={outbox.waiting > 0 ? t("health.oldest", { time: lasting(outbox.oldest_ms) }) : undefined} />
        <Fact name={t("health.uncached")} value={formatCount(outbox.uncached)} />
        <Fact name={t("health.low_priority")} value={formatCount(outbox.low_priority)} />
      </Facts>
      <Facts title={t("health.rollups")}>
        <Fact name={t("health.deltas")} value={upTo(rollups.deltas)} note={rollups.oldest_hour ? t("health.since", { time: formatTime(rollups.oldest_hour) }) : undefined} />
      </Facts>
      <Facts title={t("health.purge")}>
        <Fact name={t("health.overdue")} value={upTo(purge.overdue_expiries)} />
        <Fact name={t("health.to_purge")} value={upTo(purge.waiting)} note={purge.oldest_at ? t("health.since", { time: formatTime(purge.oldest_at) }) : undefined} />
        <Fact name={t("health.schema")} value={schema.version} note={t("health.required", { version: schema.required })} />
      </Facts>
    </div>
  );
}

function Locks({ locks, now }: { locks: Health["locks"]; now: number }) {
  return (
    <div class="card table-card">
      <table class="table">
        <caption class="card-head">{t("health.locks")}</caption>
        <thead>
          <tr>
            <th scope="col">{t("health.task")}</th>
            <th scope="col">{t("health.started")}</th>
            <th scope="col" class="wide-only">
              {t("health.holder")}
            </th>
          </tr>
        </thead>
        <tbody>
          {locks.map((lock) => (
            <tr key={lock.name}>
              <td>{lock.name.replace(/^waymark[-_]/, "")}</td>
              <td title={formatTime(lock.locked_at)}>
                {formatRelative(lock.locked_at)} {Date.parse(lock.locked_until) > now && <span class="badge badge-admin">{t("health.held")}</span>}
              </td>
              <td class="mono wide-only">{lock.holder}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** A failed request is a result too: unlike other pages, this one must not go on showing the last good state. */
async function load(signal: AbortSignal): Promise<{ at: number; health?: Health; error?: ApiError }> {
  try {
    return { health: await unwrap(api.GET("/api/admin/health", { signal })), at: Date.now() };
  } catch (cause) {
    return { error: asApiError(cause), at: Date.now() };
  }
}

export default function HealthPage() {
  const { data, reload } = useQuery("health", load, POLL_MS);
  const { health, error } = data ?? {};
  return (
    <>
      <header class="page-head">
        <h1>{t("health")}</h1>
        {data && <p class="muted">{t("health.at", { time: formatClock(data.at) })}</p>}
      </header>
      {error && <ErrorBox error={error} retry={reload} />}
      {error && <p class="card">{t("health.unknown")}</p>}
      {!data && <Skeleton lines={8} height={44} />}
      {data && health && (
        <>
          <Problems problems={health.problems} />
          <Services services={health.services} />
          <Backlogs health={health} />
          <Locks locks={health.locks} now={data.at} />
        </>
      )}
    </>
  );
}
