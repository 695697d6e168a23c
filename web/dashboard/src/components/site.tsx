import { readableHost } from "../lib/hosts";
import { hostOf } from "../lib/urls";

/** A letter in a colour of the site's own: no request tells anybody else which sites somebody links to. */
export function Site({ url }: { url: string }) {
  const host = readableHost(hostOf(url).replace(/^www\./, ""));
  const hue = [...host].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 360, 7);
  return (
    <span class="site" aria-hidden="true" style={{ "--hue": String(hue) }}>
      {(host[0] ?? "?").toUpperCase()}
    </span>
  );
}
