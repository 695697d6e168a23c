import { useState } from "preact/hooks";
import { api, unwrap } from "../api/client";
import { t } from "../i18n";
import { Dialog, DialogFoot } from "./dialog";
import { ErrorBox } from "./feedback";
import { SubmitButton, TextField } from "./field";
import { useAction } from "./use_action";

/** What an administrator blocks: one link, or the host that it leads to. */
export type BlockTarget = { kind: "link"; name: string; id: number } | { kind: "host"; name: string };

interface Props {
  target: BlockTarget;
  text: string;
  /** What belongs to it, once it is blocked. */
  then?: () => Promise<unknown>;
  onClose: () => void;
  onBlocked: () => void;
}

export function BlockDialog({ target, text, then, onClose, onBlocked }: Props) {
  const [reason, setReason] = useState("");
  const { error, isBusy, run } = useAction();
  const { kind, name } = target;
  const submit = (event: Event) => {
    event.preventDefault();
    void run(async () => {
      if (kind === "link") await unwrap(api.PUT("/api/admin/links/{id}/block", { params: { path: { id: target.id } }, body: { reason } }));
      else await unwrap(api.POST("/api/admin/hosts", { body: { host: name, reason } }));
      await then?.();
      onBlocked();
    });
  };
  return (
    <Dialog title={t("report.block.title", { name })} onClose={onClose}>
      <form class="form" onSubmit={submit}>
        <p>{text}</p>
        {error && <ErrorBox error={error} />}
        <TextField label={t("reason")} hint={t(`report.reason.${kind}`)} required autofocus autocomplete="off" maxLength={kind === "link" ? 500 : 200} value={reason} error={error?.fields.reason ?? error?.fields.host} onInput={setReason} />
        <DialogFoot onClose={onClose}>
          <SubmitButton isBusy={isBusy}>{t("block")}</SubmitButton>
        </DialogFoot>
      </form>
    </Dialog>
  );
}
