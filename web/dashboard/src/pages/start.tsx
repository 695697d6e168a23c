import { useState } from "preact/hooks";
import { api, newIdempotencyKey, unwrap } from "../api/client";
import { useInstance } from "../app/instance";
import { href } from "../app/router";
import { useUser } from "../app/session";
import { CopyButton } from "../components/copy_button";
import { Icon } from "../components/icons";
import { QrDialog, QrImage } from "../components/qr_dialog";
import { ShortenForm } from "../components/shorten_form";
import { t } from "../i18n";
import { formatRelative, formatTime, hostAndSlug, shortenUrl } from "../lib/format";
import { forgetTemporaryLink, keepTemporaryLink, type TemporaryLink, temporaryLinks } from "../lib/temporary_links";
import { lazy } from "../lib/lazy";
import { normalizeUrl } from "../lib/urls";

const Steps = lazy(() => import("../components/steps"), 0);

function Newest({ link }: { link: TemporaryLink }) {
  return (
    <section class="card newest" aria-label={t("start.made")}>
      <QrImage text={link.short_url} label={t("qr.of", { url: link.short_url })} />
      <div class="newest-text">
        <p class="hint">{t("start.made")}</p>
        <a class="newest-url" translate={false} href={link.short_url} target="_blank" rel="noreferrer">
          {hostAndSlug(link.short_url)}
        </a>
        <p class="ellipsis">{shortenUrl(link.original_url)}</p>
        <CopyButton withText text={link.short_url} label={t("copy.link", { url: link.short_url })} />
      </div>
    </section>
  );
}

function OwnLinks({ links, onChange }: { links: TemporaryLink[]; onChange: () => void }) {
  const mayRegister = useInstance()?.registration === "open";
  const [qr, setQr] = useState<TemporaryLink>();
  return (
    <section class="card">
      <div class="card-head">
        <h2>{t("start.yours")}</h2>
        <a class="button" href={href(mayRegister ? "/register" : "/login")}>
          {t(mayRegister ? "start.keep" : "start.keep.login")}
        </a>
      </div>
      <ul class="rows">
        {links.map((link) => (
          <li key={link.slug} class="row">
            <div class="row-main">
              <a href={link.short_url} target="_blank" rel="noreferrer" class="short" translate={false}>
                {hostAndSlug(link.short_url)}
              </a>
              <span class="ellipsis muted">{shortenUrl(link.original_url)}</span>
            </div>
            <span class="muted nowrap" title={formatTime(link.expires_at)}>
              <Icon name="clock" /> {t("start.ends", { time: formatRelative(link.expires_at) })}
            </span>
            <div class="row-actions">
              <CopyButton text={link.short_url} label={t("copy.link", { url: link.short_url })} />
              <button type="button" class="icon-button" aria-label={t("qr.of", { url: link.short_url })} onClick={() => setQr(link)}>
                <Icon name="qr" />
              </button>
              <button
                type="button"
                class="icon-button"
                aria-label={t("start.forget", { url: link.short_url })}
                onClick={() => {
                  forgetTemporaryLink(link.slug);
                  onChange();
                }}
              >
                <Icon name="close" />
              </button>
            </div>
          </li>
        ))}
      </ul>
      {qr && <QrDialog shortUrl={qr.short_url} slug={qr.slug} onClose={() => setQr(undefined)} />}
    </section>
  );
}

export default function StartPage() {
  const instance = useInstance();
  const isIn = Boolean(useUser());
  const [links, setLinks] = useState(temporaryLinks());
  const [made, setMade] = useState<TemporaryLink>();

  const refresh = () => setLinks(temporaryLinks());
  const make = async (url: string) => {
    setMade(undefined); // the previous link must not look like the answer
    const headers = { "Idempotency-Key": newIdempotencyKey() };
    const { link, claim_token } = await unwrap(api.POST("/api/links/public", { params: { header: headers }, body: { original_url: normalizeUrl(url) } }));
    if (claim_token) keepTemporaryLink(link, claim_token);
    setMade(temporaryLinks()[0]);
    refresh();
  };

  return (
    <div class="start">
      <h1 class="hero">{t("start.title")}</h1>
      {instance && <p class="lead">{t(instance.anonymous_links ? "start.text" : "start.closed")}</p>}
      {instance && !isIn && instance.registration !== "open" && <p class="hint">{t(`register.${instance.registration}`)}</p>}
      {instance?.anonymous_links && <ShortenForm label={t("destination")} onSend={make} />}
      {instance?.anonymous_links === false && (
        <a class="button button-primary" href={href(isIn ? "/" : "/login")}>
          {t(isIn ? "links" : "login")}
        </a>
      )}
      {made && <Newest link={made} key={made.slug} />}
      {links.length === 0 && <Steps />}
      {links.length > 0 && <OwnLinks links={links} onChange={refresh} />}
    </div>
  );
}
