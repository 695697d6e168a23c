import { t } from "../i18n";
import { CopyButton, SendButton } from "./copy_button";
import { Dialog } from "./dialog";

interface Props {
  title: string;
  text: string;
  secret: string;
  /** The name of the button that copies it. */
  label: string;
  /** It is an address for somebody else. */
  isSent?: boolean;
  onClose: () => void;
}

/** Shows what the server does not show again. */
export function SecretDialog({ title, text, secret, label, isSent = false, onClose }: Props) {
  return (
    <Dialog title={title} onClose={onClose}>
      <p>{text}</p>
      <p class="secret mono" translate={false}>
        {secret}
      </p>
      <footer class="dialog-foot">
        <button type="button" class="button" onClick={onClose}>
          {t("done")}
        </button>
        {isSent && <SendButton url={secret} />}
        <CopyButton isSecret isMain withText text={secret} label={label} />
      </footer>
    </Dialog>
  );
}
