import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import world from "virtual:world";
import { api, unwrap } from "../api/client";
import { href } from "../app/router";
import { Empty, Skeleton } from "../components/feedback";
import { Icon } from "../components/icons";
import { Ticking } from "../components/ticking";
import { ValueIcon } from "../components/value_icon";
import WorldMap from "../components/world_map";
import { t } from "../i18n";
import type { Dimension } from "../lib/filters";
import { formatClock, formatCount, formatValue } from "../lib/format";
import { followVisits, type LiveVisit } from "../lib/live_stream";

const SHOWN = 100;
const TOPS = 10;
const KEPT_MS = 30 * 60_000;
const KEPT = 5_000; // more would make each drawing slow
const REFRESH_MS = 200; // one drawing for many visits
const QUIET_MS = 2_000; // without a visit after this time, there is none

/** The visits of the last minutes, newest first, each once; undefined until the server has sent those that it has. It begins again with each turn. */
function useLiveVisits(turn: number) {
  const known = useRef(new Map<string, LiveVisit>());
  const [visits, setVisits] = useState<LiveVisit[]>();
  const [isOpen, setOpen] = useState<boolean>();
  const [hasGap, setGap] = useState(false);

  useEffect(() => {
    let timer = 0;
    let quiet = 0;
    const draw = () => {
      timer = 0;
      clearTimeout(quiet);
      const oldest = Date.now() - KEPT_MS;
      for (const [id, visit] of known.current) if (Date.parse(visit.occurred_at) < oldest) known.current.delete(id);
      setVisits([...known.current.values()].sort((a, b) => (a.occurred_at < b.occurred_at ? 1 : -1)));
    };
    const drawSoon = () => (timer ||= window.setTimeout(draw, REFRESH_MS));
    const forget = setInterval(() => known.current.size > 0 && draw(), 10_000);
    const stop = followVisits({
      onVisit: (visit) => {
        if (Date.parse(visit.occurred_at) < Date.now() - KEPT_MS) return;
        known.current.set(visit.event_id, visit);
        if (known.current.size > KEPT) known.current.delete(known.current.keys().next().value as string);
        drawSoon();
      },
      onReset: () => setGap(known.current.size > 0),
      onConnection: (isNowOpen) => {
        setOpen(isNowOpen);
        if (isNowOpen) quiet = window.setTimeout(draw, QUIET_MS);
      },
    });
    return () => {
      stop();
      clearTimeout(timer);
      clearTimeout(quiet);
      clearInterval(forget);
    };
  }, [turn]);
  return { visits, isOpen, hasGap };
}

function Row({ visit, isNew }: { visit: LiveVisit; isNew: boolean }) {
  const place = [visit.city, formatValue("country", visit.country)].filter(Boolean).join(", ");
  const device = visit.is_bot ? t("bot") : [visit.browser, visit.os].filter(Boolean).join(", ");
  return (
    <li class={isNew ? "live-row is-new" : "live-row"}>
      <a class="short" translate={false} href={href(`/links/${visit.link_id}`)}>
        /{visit.slug}
      </a>
      <time class="muted number" dateTime={visit.occurred_at}>
        {formatClock(visit.occurred_at)}
      </time>
      <span class="muted live-facts">
        <ValueIcon dimension="country" value={visit.country} />
        {[place, device, sourceOf(visit) || t("direct")].filter(Boolean).join(" · ")}
      </span>
    </li>
  );
}

const POLL_MS = 2_000;
const PULSE_MS = 4_000;

/**
 * How many visits the last 30 minutes had, as the server counts. An event stream that is silent looks like one that is dead, so this
 * also says whether the server answers: undefined until it has, false after two seconds without an answer.
 */
function useCount(turn: number) {
  const [count, setCount] = useState<number>();
  const [isAlive, setAlive] = useState<boolean>();
  const [answered, setAnswered] = useState(0);
  useEffect(() => {
    let timer = 0;
    const controller = new AbortController();
    const ask = async () => {
      const limit = setTimeout(() => setAlive(false), POLL_MS);
      try {
        const from = new Date(Date.now() - KEPT_MS).toISOString();
        const answer = await unwrap(api.GET("/api/stats/summary", { params: { query: { from } }, signal: controller.signal }));
        setCount(answer.total);
        setAnswered(Date.now());
        setAlive(true);
      } catch {
        if (!controller.signal.aborted) setAlive(false);
      }
      clearTimeout(limit);
      if (!controller.signal.aborted) timer = window.setTimeout(ask, POLL_MS / 2);
    };
    const goOffline = () => setAlive(false);
    void ask();
    addEventListener("offline", goOffline);
    return () => {
      controller.abort();
      clearTimeout(timer);
      removeEventListener("offline", goOffline);
    };
  }, [turn]);
  return { count, isAlive, answered };
}

/** A pulse for each visit of the last seconds, where its country is. */
function Pulses({ visits, scale }: { visits: readonly LiveVisit[]; scale: number }) {
  const since = Date.now() - PULSE_MS;
  const fresh = visits.filter((visit) => Date.parse(visit.occurred_at) > since && world.centers[visit.country]);
  return (
    <>
      {fresh.map((visit) => {
        const [x, y] = world.centers[visit.country] ?? [0, 0];
        return (
          <g key={visit.event_id}>
            <circle class="pulse" cx={x} cy={y} r={32 / scale} />
            <circle class="pulse-dot" cx={x} cy={y} r={7 / scale} />
          </g>
        );
      })}
    </>
  );
}

const sourceOf = (visit: LiveVisit) => visit.referrer_source || visit.referrer_host;

/** How many visits each value has. */
function countBy(visits: readonly LiveVisit[], valueOf: (visit: LiveVisit) => string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const visit of visits) counts.set(valueOf(visit), (counts.get(valueOf(visit)) ?? 0) + 1);
  return counts;
}

interface TopsProps {
  title: string;
  dimension?: Dimension;
  counts: ReadonlyMap<string, number>;
  /** What stands there while nothing is known. */
  missing: ComponentChildren;
}

/** As many of the values with most visits as there is room for. */
function Tops({ title, dimension, counts, missing }: TopsProps) {
  const items = [...counts].sort(([, a], [, b]) => b - a).slice(0, TOPS);
  const max = Math.max(1, ...items.map(([, count]) => count));
  return (
    <section class="live-top">
      <h2 class="hint">{title}</h2>
      {missing ?? (items.length === 0 && <p class="live-none muted">{t("panel.empty")}</p>)}
      <ul>
        {items.map(([value, count]) => (
          <li key={value}>
            <span class="bar" style={{ width: `${(count / max) * 100}%` }} />
            {dimension && <ValueIcon dimension={dimension} value={value} />}
            <span class="bar-text">{value === "" ? t("direct") : dimension ? formatValue(dimension, value) : value}</span>
            <span class="number strong">{formatCount(count)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

export default function LivePage() {
  const [turn, setTurn] = useState(0);
  const begun = useRef(Date.now()).current;
  const { visits: received, isOpen, hasGap } = useLiveVisits(turn);
  const { count, isAlive, answered } = useCount(turn);
  const known = received ?? (isOpen && count === 0 ? [] : undefined);
  const [paused, setPaused] = useState<{ frozen: LiveVisit[]; counted: number | undefined }>();
  const { frozen, counted } = paused ?? { counted: count };
  const visits = known ?? [];
  const shown = (frozen ?? visits).slice(0, SHOWN);
  const fresh = frozen ? visits.filter((visit) => !frozen.includes(visit)).length : 0;
  const isLost = isOpen === false || isAlive === false;
  const drawn = frozen ?? visits;
  const countries = countBy(drawn, (visit) => visit.country);
  countries.delete("");
  const bone = <i class="bone" />;
  const missing = known ? undefined : <Skeleton lines={4} height={32} look="bars" isStill={isLost} />;
  const retry = (
    <button type="button" class="button" onClick={() => setTurn(turn + 1)}>
      {t("retry")}
    </button>
  );
  return (
    <>
      <header class="page-head">
        <h1>{t("live")}</h1>
        <div class="page-actions">
          <span class={isLost ? "connection connection-lost" : isOpen && !paused ? "connection connection-on" : "connection"} role="status">
            {isLost ? `${t("live.off")} ${answered ? t("health.at", { time: formatClock(answered) }) : ""}` : !isOpen ? t("loading") : t(paused ? "live.paused" : "live.on")}
          </span>
          {isLost && known && retry}
          <button type="button" class="button" onClick={() => setPaused(paused ? undefined : { frozen: visits, counted: count })}>
            <Icon name={frozen ? "play" : "pause"} /> {frozen ? t("live.resume", { count: formatCount(fresh) }) : t("live.pause")}
          </button>
        </div>
      </header>
      {hasGap && <p class="hint">{t("live.reset")}</p>}
      <div class={isLost ? "live is-stale" : "live"}>
        <section class="card live-map" aria-label={t("map")}>
          <dl class="live-counts">
            <div>
              <dt class="muted">{t("live.half.hour")}</dt>
              <dd class="metric-count">{counted === undefined ? bone : <Ticking count={counted} />}</dd>
            </div>
            <div>
              <dt class="muted">{t("live.countries")}</dt>
              <dd class="metric-count">{known ? <Ticking count={countries.size} /> : bone}</dd>
            </div>
          </dl>
          <WorldMap label={t("map.live")} visits={countries}>
            {(scale) => <Pulses visits={drawn} scale={scale} />}
          </WorldMap>
          <div class="live-tops">
            <Tops title={t("links")} counts={countBy(drawn, (visit) => `/${visit.slug}`)} missing={missing} />
            <Tops title={t("live.countries")} dimension="country" counts={countries} missing={missing} />
            <Tops title={t("sources")} dimension="referrer_source" counts={countBy(drawn, sourceOf)} missing={missing} />
          </div>
        </section>
        <section class="card live-stream" aria-label={t("visits")}>
          {!known && isLost ? (
            <Empty icon="pulse" title={t("live.off")}>
              {retry}
            </Empty>
          ) : !known ? (
            <Skeleton lines={8} height={61} />
          ) : shown.length === 0 ? (
            <Empty icon="pulse" title={t("live.none")} text={t("live.none.text")}>
              <a class="button" href={href("/links")}>
                {t("overview.none.action")}
              </a>
            </Empty>
          ) : (
            <ul>
              {shown.map((visit) => (
                <Row visit={visit} isNew={Date.parse(visit.occurred_at) > begun} key={visit.event_id} />
              ))}
            </ul>
          )}
        </section>
      </div>
    </>
  );
}
