import { useEffect, useRef, useState } from "preact/hooks";
import { href } from "../app/router";
import { Empty } from "../components/feedback";
import { Icon } from "../components/icons";
import { t } from "../i18n";
import { formatClock, formatCount, formatValue } from "../lib/format";
import { followVisits, type LiveVisit } from "../lib/live_stream";

const SHOWN = 100;
const KEPT_MS = 5 * 60_000;
const KEPT = 5_000; // more would make each drawing slow
const REFRESH_MS = 200; // one drawing for many visits

/** The visits of the last minutes, newest first, each once. */
function useLiveVisits() {
  const known = useRef(new Map<string, LiveVisit>());
  const [visits, setVisits] = useState<LiveVisit[]>([]);
  const [isOpen, setOpen] = useState<boolean>();
  const [hasGap, setGap] = useState(false);

  useEffect(() => {
    let timer = 0;
    const draw = () => {
      timer = 0;
      const oldest = Date.now() - KEPT_MS;
      for (const [id, visit] of known.current) if (Date.parse(visit.occurred_at) < oldest) known.current.delete(id);
      setVisits([...known.current.values()].sort((a, b) => (a.occurred_at < b.occurred_at ? 1 : -1)));
    };
    const drawSoon = () => (timer ||= window.setTimeout(draw, REFRESH_MS));
    const forget = setInterval(draw, 10_000);
    const stop = followVisits({
      onVisit: (visit) => {
        known.current.set(visit.event_id, visit);
        if (known.current.size > KEPT) known.current.delete(known.current.keys().next().value as string);
        drawSoon();
      },
      onReset: () => setGap(known.current.size > 0),
      onConnection: setOpen,
    });
    return () => {
      stop();
      clearTimeout(timer);
      clearInterval(forget);
    };
  }, []);
  return { visits, isOpen, hasGap };
}

function Row({ visit }: { visit: LiveVisit }) {
  return (
    <tr>
      <td class="nowrap mono">{formatClock(visit.occurred_at)}</td>
      <td>
        <a class="short" translate={false} href={href(`/links/${visit.link_id}`)}>
          /{visit.slug}
        </a>
      </td>
      <td>{[visit.city, formatValue("country", visit.country)].filter(Boolean).join(", ")}</td>
      <td class="wide-only">{visit.is_bot ? <span class="badge">{t("bot")}</span> : [visit.browser, visit.os].filter(Boolean).join(" · ") || t("unknown")}</td>
      <td class="wide-only">{visit.referrer_source || visit.referrer_host || t("direct")}</td>
    </tr>
  );
}

export default function LivePage() {
  const { visits, isOpen, hasGap } = useLiveVisits();
  const [frozen, setFrozen] = useState<LiveVisit[]>();
  const shown = (frozen ?? visits).slice(0, SHOWN);
  const fresh = frozen ? visits.filter((visit) => !frozen.includes(visit)).length : 0;
  return (
    <>
      <header class="page-head">
        <h1>{t("live")}</h1>
        <div class="page-actions">
          <span class="muted" role="status">
            {isOpen === false ? t("live.off") : isOpen ? t("live.on") : t("loading")}
          </span>
          <button type="button" class="button" onClick={() => setFrozen(frozen ? undefined : visits)}>
            <Icon name={frozen ? "play" : "pause"} /> {frozen ? t("live.resume", { count: formatCount(fresh) }) : t("live.pause")}
          </button>
        </div>
      </header>
      {hasGap && <p class="hint">{t("live.reset")}</p>}
      {shown.length === 0 ? (
        <Empty title={t("live.none")} text={t("live.none.text")} />
      ) : (
        <section class="card table-card" aria-label={t("live")}>
          <h2 class="card-head">{t("live.at", { count: formatCount(visits.length) + (visits.length === KEPT ? "+" : "") })}</h2>
          <table class="table">
            <thead>
              <tr>
                <th scope="col">{t("time")}</th>
                <th scope="col">{t("link")}</th>
                <th scope="col">{t("place")}</th>
                <th scope="col" class="wide-only">{t("device")}</th>
                <th scope="col" class="wide-only">{t("source")}</th>
              </tr>
            </thead>
            <tbody>
              {shown.map((visit) => (
                <Row visit={visit} key={visit.event_id} />
              ))}
            </tbody>
          </table>
        </section>
      )}
    </>
  );
}
