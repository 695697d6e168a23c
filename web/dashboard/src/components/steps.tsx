import { t } from "../i18n";
import { Icon, type IconName } from "./icons";

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

/** What a link is for, in three steps. */
export default function Steps() {
  return (
    <ol class="steps">
      <Step icon="link" title={t("step.make")} text={t("step.make.text")} />
      <Step icon="qr" title={t("step.share")} text={t("step.share.text")} />
      <Step icon="pulse" title={t("step.watch")} text={t("step.watch.text")} />
    </ol>
  );
}
