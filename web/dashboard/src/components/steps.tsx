import { t } from "../i18n";
import { formatCount, formatValue } from "../lib/format";
import { lineThrough } from "../lib/line";
import { Icon, type IconName } from "./icons";
import { Site } from "./site";

function Step({ icon, title, text }: { icon: IconName; title: string; text: string }) {
  return (
    <li class="step">
      <Icon name={icon} />
      <div>
        <h2>{title}</h2>
        <p class="muted">{text}</p>
      </div>
    </li>
  );
}

const DAYS = [31, 44, 40, 52, 47, 20, 17, 38, 55, 58, 49, 61, 26, 22, 63, 72, 66, 81, 70, 35, 29, 74, 92, 86, 103];
const TOPS: readonly [dimension: string, values: readonly [value: string, count: number][]][] = [
  ["country", [["DE", 712], ["US", 303], ["FR", 222]]],
  ["referrer_source", [["Google", 641], ["LinkedIn", 480], ["Instagram", 231]]],
  ["browser", [["Chrome", 806], ["Safari", 391], ["Firefox", 154]]],
];

/** What somebody sees of a link, drawn for those who have none. */
function Picture() {
  const line = lineThrough(DAYS.map((count, at) => [(at * 760) / (DAYS.length - 1), 120 - count]));
  return (
    <div class="card picture" aria-hidden="true">
      <p class="picture-link">
        <Site url="https://shop.example" />
        <span>
          <b>go.example/spring</b>
          <br />
          <span class="muted">→ shop.example/catalogue</span>
        </span>
        <span class="picture-count">
          <span class="muted">{t("step.example")}</span> <span class="metric-count">{formatCount(1351)}</span>
        </span>
      </p>
      <svg viewBox="0 0 760 120" preserveAspectRatio="none">
        <path class="sparkline-area" d={`${line}V120H0Z`} />
        <path class="sparkline-line" d={line} />
      </svg>
      <div class="live-tops">
        {TOPS.map(([dimension, values]) => (
          <ul class="live-top" key={dimension}>
            {values.map(([value, count]) => (
              <li key={value}>
                <span class="bar" style={{ width: `${(count / (values[0]?.[1] ?? 1)) * 100}%` }} />
                <span class="bar-text">{formatValue(dimension, value)}</span>
                <span class="number strong">{formatCount(count)}</span>
              </li>
            ))}
          </ul>
        ))}
      </div>
    </div>
  );
}

/** What a link is for, in three steps. */
export default function Steps() {
  return (
    <>
      <ol class="steps">
        <Step icon="link" title={t("step.make")} text={t("step.make.text")} />
        <Step icon="qr" title={t("step.share")} text={t("step.share.text")} />
        <Step icon="pulse" title={t("step.watch")} text={t("step.watch.text")} />
      </ol>
      <Picture />
    </>
  );
}
